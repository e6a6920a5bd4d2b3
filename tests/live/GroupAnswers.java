import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.*;
import java.util.stream.Collectors;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.common.*;
import org.apache.kafka.common.serialization.*;
import org.apache.kafka.streams.*;
import org.apache.kafka.streams.kstream.*;
import org.apache.kafka.streams.state.Stores;

/** What AdminClient says of the groups of a broker; share consumers that acknowledge record by record; streams. */
public class GroupAnswers {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Map<String, KafkaShareConsumer<byte[], byte[]>> SHARES = new HashMap<>();
    static final Map<String, KafkaStreams> STREAMS = new HashMap<>();
    static Admin admin;

    public static void main(String[] args) throws Exception {
        admin = Admin.create(Map.of("bootstrap.servers", args[0]));
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line; (line = in.readLine()) != null; ) {
            Map<String, Object> answer = new LinkedHashMap<>();
            try {
                answer.put("result", run(JSON.readTree(line), args[0]));
            } catch (Throwable t) {
                answer.put("error", String.valueOf(t.getCause() == null ? t : t.getCause()));
            }
            System.out.println(JSON.writeValueAsString(answer));
        }
        Runtime.getRuntime().halt(0);
    }

    static Object run(JsonNode c, String bootstrap) throws Exception {
        String name = c.path("name").asText();
        switch (c.get("op").asText()) {
            case "groups": return groups();
            case "offsets": return offsets();
            case "shareOffsets": return shareOffsets();
            case "resetShare":
                admin.alterShareGroupOffsets(name, Map.of(partition(c), c.get("offset").asLong())).all().get();
                return null;
            case "deleteShareOffsets":
                admin.deleteShareGroupOffsets(name, Set.of(c.get("topic").asText())).all().get();
                return null;
            case "deleteShare": admin.deleteShareGroups(List.of(name)).all().get(); return null;
            case "deleteStreams": admin.deleteStreamsGroups(List.of(name)).all().get(); return null;
            case "share": return share(c, name, bootstrap);
            case "shareClose": SHARES.remove(name).close(); return null;
            case "streams": streams(c, name, bootstrap); return null;
            case "streamsClose": STREAMS.remove(name).close(Duration.ofSeconds(20)); return null;
            default: throw new IllegalArgumentException(c.toString());
        }
    }

    static TopicPartition partition(JsonNode c) {
        return new TopicPartition(c.get("topic").asText(), c.get("partition").asInt());
    }

    /** Each group with its kind, state, epochs and members, by the request for its kind. */
    static Object groups() throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (GroupListing one : admin.listGroups().all().get()) {
            String id = one.groupId(), kind = one.type().map(Object::toString).orElse("");
            Map<String, Object> row = new LinkedHashMap<>();
            row.put("kind", kind.toLowerCase());
            row.put("state", one.groupState().map(Object::toString).orElse(""));
            row.put("simple", one.isSimpleConsumerGroup());
            if (kind.equals("Consumer")) {
                ConsumerGroupDescription d = admin.describeConsumerGroups(List.of(id)).all().get().get(id);
                about(row, d.groupState(), d.groupEpoch().orElse(null), d.targetAssignmentEpoch().orElse(null),
                    d.members().stream().map(MemberDescription::consumerId));
            } else if (kind.equals("Classic")) {
                ClassicGroupDescription d = admin.describeClassicGroups(List.of(id)).all().get().get(id);
                row.put("protocol", d.protocolData());
                about(row, d.state(), null, null, d.members().stream().map(MemberDescription::consumerId));
            } else if (kind.equals("Share")) {
                ShareGroupDescription d = admin.describeShareGroups(List.of(id)).all().get().get(id);
                about(row, d.groupState(), d.groupEpoch(), d.targetAssignmentEpoch(),
                    d.members().stream().map(ShareMemberDescription::consumerId));
            } else {
                StreamsGroupDescription d = admin.describeStreamsGroups(List.of(id)).all().get().get(id);
                about(row, d.groupState(), d.groupEpoch(), d.targetAssignmentEpoch(),
                    d.members().stream().map(StreamsGroupMemberDescription::memberId));
            }
            out.put(id, row);
        }
        return out;
    }

    static void about(Map<String, Object> row, Object state, Integer epoch, Integer assigned, java.util.stream.Stream<String> members) {
        row.put("described", String.valueOf(state));
        row.put("epoch", epoch);
        row.put("assignment_epoch", assigned);
        row.put("members", members.sorted().collect(Collectors.toList()));
    }

    static Object offsets() throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (GroupListing one : admin.listGroups().all().get()) {
            if (one.type().map(t -> t == GroupType.SHARE).orElse(false)) continue;
            admin.listConsumerGroupOffsets(one.groupId()).partitionsToOffsetAndMetadata().get().forEach((tp, o) -> {
                if (o != null) out.put(one.groupId() + " " + tp, Arrays.asList(o.offset(), o.leaderEpoch().orElse(null), o.metadata()));
            });
        }
        return out;
    }

    static Object shareOffsets() throws Exception {
        Map<String, Object> out = new TreeMap<>();
        for (GroupListing one : admin.listGroups(ListGroupsOptions.forShareGroups()).all().get()) {
            String id = one.groupId();
            admin.listShareGroupOffsets(Map.of(id, new ListShareGroupOffsetsSpec())).partitionsToOffsetInfo(id).get().forEach((tp, o) -> {
                if (o != null) out.put(id + " " + tp, Arrays.asList(o.startOffset(), o.lag().orElse(null)));
            });
        }
        return out;
    }

    /** Poll until so many records came; acknowledge each by the next of `acks`: accept, reject, release, or keep. */
    static Object share(JsonNode c, String name, String bootstrap) throws Exception {
        KafkaShareConsumer<byte[], byte[]> k = SHARES.computeIfAbsent(name, n -> new KafkaShareConsumer<>(
            Map.of("bootstrap.servers", bootstrap, "group.id", c.get("group").asText(), "share.acknowledgement.mode", "explicit"),
            new ByteArrayDeserializer(), new ByteArrayDeserializer()));
        if (c.has("topics")) {
            List<String> topics = new ArrayList<>();
            c.get("topics").forEach(t -> topics.add(t.asText()));
            k.subscribe(topics);
        }
        int n = 0, want = c.path("count").asInt(1);
        long end = System.currentTimeMillis() + c.path("timeout_ms").asLong(15000);
        JsonNode acks = c.path("acks");
        while (n < want && System.currentTimeMillis() < end) {
            for (ConsumerRecord<byte[], byte[]> r : k.poll(Duration.ofMillis(300)))
                k.acknowledge(r, AcknowledgeType.valueOf(acks.size() == 0 ? "ACCEPT" : acks.get(n++ % acks.size()).asText()));
            if (acks.size() == 0) n = want;
            k.commitSync();
        }
        return n;
    }

    static void streams(JsonNode c, String name, String bootstrap) {
        Properties p = new Properties();
        p.putAll(Map.of("application.id", name, "bootstrap.servers", bootstrap, "group.protocol", "streams",
            "processing.guarantee", "exactly_once_v2", "replication.factor", "1", "commit.interval.ms", "300",
            "state.dir", c.get("state").asText(), "default.key.serde", Serdes.String().getClass(),
            "default.value.serde", Serdes.String().getClass()));
        StreamsBuilder b = new StreamsBuilder();
        b.<String, String>stream(c.get("from").asText()).groupByKey()
            .count(Materialized.as(Stores.inMemoryKeyValueStore("counts"))).toStream().mapValues(v -> "" + v).to(c.get("to").asText());
        KafkaStreams k = new KafkaStreams(b.build(), p);
        STREAMS.put(name, k);
        k.start();
    }
}
