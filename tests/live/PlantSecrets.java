import com.fasterxml.jackson.databind.ObjectMapper;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.*;
import java.util.concurrent.ExecutionException;
import org.apache.kafka.clients.admin.*;
import org.apache.kafka.clients.consumer.*;
import org.apache.kafka.clients.producer.*;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.acl.*;
import org.apache.kafka.common.config.ConfigResource;
import org.apache.kafka.common.quota.*;
import org.apache.kafka.common.resource.*;
import org.apache.kafka.common.security.auth.KafkaPrincipal;
import org.apache.kafka.common.security.scram.internals.ScramFormatter;
import org.apache.kafka.common.serialization.*;

/** Writes random bytes and letters wherever clients can, and prints each with its place: a line of JSON for each. */
public class PlantSecrets {
    static final String LETTERS = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789";
    static final SecureRandom RANDOM = new SecureRandom();
    static String bootstrap;
    static Admin admin;

    public static void main(String[] args) throws Exception {
        bootstrap = args[0];
        admin = Admin.create(Map.of("bootstrap.servers", bootstrap));
        metadata();
        token(args[1], args[2]);
        List<String> topics = records();
        transactions(topics.get(0));
        for (String protocol : List.of("classic", "consumer")) members(topics.get(0), protocol);
        share(topics.get(0));
        Runtime.getRuntime().halt(0);
    }

    static byte[] tell(String place, byte[] secret) throws Exception {
        System.out.println(new ObjectMapper().writeValueAsString(Map.of("place", place, "hex", HexFormat.of().formatHex(secret))));
        return secret;
    }

    static byte[] bytes(String place, int size) throws Exception {
        byte[] made = new byte[size];
        RANDOM.nextBytes(made);
        return tell(place, made);
    }

    static String text(String place, int size) throws Exception {
        StringBuilder made = new StringBuilder();
        for (int at = 0; at < size; at++) made.append(LETTERS.charAt(RANDOM.nextInt(LETTERS.length())));
        tell(place, made.toString().getBytes(StandardCharsets.UTF_8));
        return made.toString();
    }

    static String text(String place) throws Exception { return text(place, 24); }

    static void configure(ConfigResource.Type type, String name, String key, String value) throws Exception {
        var entry = new AlterConfigOp(new ConfigEntry(key, value), AlterConfigOp.OpType.SET);
        admin.incrementalAlterConfigs(Map.of(new ConfigResource(type, name), List.of(entry))).all().get();
    }

    static void metadata() throws Exception {
        for (var mechanism : List.of(ScramMechanism.SCRAM_SHA_256, ScramMechanism.SCRAM_SHA_512)) {
            byte[] salt = bytes("the salt of a SCRAM credential", 24), password = bytes("nowhere", 24);
            var formatter = new ScramFormatter(org.apache.kafka.common.security.scram.internals.ScramMechanism.forMechanismName(mechanism.mechanismName()));
            byte[] salted = formatter.saltedPassword(new String(password, StandardCharsets.ISO_8859_1), salt, 4096);
            tell("the stored key of a SCRAM credential", formatter.storedKey(formatter.clientKey(salted)));
            tell("the server key of a SCRAM credential", formatter.serverKey(salted));
            var change = new UserScramCredentialUpsertion(text("the user of a SCRAM credential"),
                new ScramCredentialInfo(mechanism, 4096), new String(password, StandardCharsets.ISO_8859_1).getBytes(StandardCharsets.UTF_8), salt);
            admin.alterUserScramCredentials(List.of(change)).all().get();
        }
        for (var entity : List.of(Map.of("user", text("the user of a quota")), Map.of("client-id", text("the client id of a quota"))))
            admin.alterClientQuotas(List.of(new ClientQuotaAlteration(new ClientQuotaEntity(entity), List.of(new ClientQuotaAlteration.Op("producer_byte_rate", 1e9))))).all().get();
        for (var type : List.of(ResourceType.TOPIC, ResourceType.GROUP, ResourceType.TRANSACTIONAL_ID))
            admin.createAcls(List.of(new AclBinding(new ResourcePattern(type, text("the resource of an ACL"), PatternType.LITERAL),
                new AccessControlEntry("User:" + text("the principal of an ACL"), text("the host of an ACL"), AclOperation.READ, AclPermissionType.ALLOW)))).all().get();
        configure(ConfigResource.Type.CLIENT_METRICS, text("the name of a metrics subscription"), "match", "client_id=" + text("the value of a setting"));
        configure(ConfigResource.Type.GROUP, text("the group of a setting"), "consumer.session.timeout.ms", "50000");
        configure(ConfigResource.Type.BROKER, "1", "listener.name.sasl.plain.sasl.jaas.config",
            "org.apache.kafka.common.security.plain.PlainLoginModule required user_admin=\"admin\" user_"
            + text("a user in a broker's setting") + "=\"" + text("a password in a broker's setting") + "\";");
    }

    static void token(String sasl, String user) throws Exception {
        Map<String, Object> props = Map.of("bootstrap.servers", sasl, "security.protocol", "SASL_PLAINTEXT", "sasl.mechanism", "PLAIN",
            "sasl.jaas.config", "org.apache.kafka.common.security.plain.PlainLoginModule required username=\"" + user + "\" password=\"" + user + "\";");
        try (Admin authenticated = Admin.create(props)) {
            var renewer = new KafkaPrincipal("User", text("the renewer of a delegation token"));
            var made = authenticated.createDelegationToken(new CreateDelegationTokenOptions().renewers(List.of(renewer))).delegationToken().get();
            tell("the id of a delegation token", made.tokenInfo().tokenId().getBytes(StandardCharsets.UTF_8));
        }
    }

    static KafkaProducer<byte[], byte[]> producer(Map<String, String> more) {
        Map<String, Object> props = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "linger.ms", "50"));
        props.putAll(more);
        return new KafkaProducer<>(props, new ByteArraySerializer(), new ByteArraySerializer());
    }

    static ProducerRecord<byte[], byte[]> record(String topic, String codec, byte[] key) throws Exception {
        var made = new ProducerRecord<>(topic, 0, key == null ? bytes("a key, " + codec, 24) : key, bytes("a value, " + codec, 64 + RANDOM.nextInt(400)));
        made.headers().add(text("the key of a header, " + codec), bytes("the value of a header, " + codec, 32));
        return made;
    }

    static String topic(String name, Map<String, String> settings) throws Exception {
        admin.createTopics(List.of(new NewTopic(name, 1, (short) 1).configs(settings))).all().get();
        return name;
    }

    /** Topics of each codec; one that loses its first segments, a preallocated one, compacted ones, one that is deleted. */
    static List<String> records() throws Exception {
        List<String> topics = new ArrayList<>();
        Map<String, String> small = Map.of("segment.bytes", "1048576", "file.delete.delay.ms", "3600000");
        for (String codec : List.of("none", "gzip", "snappy", "lz4", "zstd")) {
            topics.add(topic(text("the name of a topic"), small));
            try (var p = producer(Map.of("compression.type", codec, "batch.size", "4000"))) {
                for (int at = 0; at < 150; at++) p.send(record(topics.get(topics.size() - 1), codec, null));
            }
        }
        String deleting = topic(text("the name of a topic"), small), gone = topic(text("the name of a topic"), small);
        String preallocated = topic(text("the name of a topic"), Map.of("preallocate", "true", "segment.bytes", "1048576"));
        Map<String, String> compacted = Map.of("cleanup.policy", "compact", "segment.bytes", "1048576", "segment.ms", "1000",
            "min.cleanable.dirty.ratio", "0.01", "file.delete.delay.ms", "3600000");
        String compact = topic(text("the name of a topic"), compacted), schemas = topic("_schemas", compacted);
        byte[] again = bytes("a key of a compacted topic", 24);
        try (var p = producer(Map.of())) {
            byte[] filler = new byte[200_000];
            for (int at = 0; at < 40; at++) {
                p.send(record(deleting, "in a deleted segment", null));
                p.send(new ProducerRecord<>(deleting, 0, null, filler));
                if (at < 20) p.send(record(gone, "of a deleted topic", null));
                if (at < 20) p.send(record(preallocated, "preallocated", null));
                p.send(record(compact, "compacted", again));
                p.send(new ProducerRecord<>(compact, 0, again, filler));
                p.send(new ProducerRecord<>(schemas, 0, ("{\"keytype\":\"SCHEMA\",\"subject\":\"" + text("a subject in _schemas") + "\"}").getBytes(),
                    ("{\"schema\":\"" + text("a schema in _schemas", 60) + "\"}").getBytes()));
                p.flush();
            }
        }
        admin.deleteRecords(Map.of(new TopicPartition(deleting, 0), RecordsToDelete.beforeOffset(50))).all().get();
        admin.deleteTopics(List.of(gone)).all().get();
        Thread.sleep(5000);  // the cleaner passes
        return topics;
    }

    static void transactions(String topic) throws Exception {
        for (int at = 0; at < 4; at++) {
            var p = producer(Map.of("transactional.id", text("a transactional id"), "transaction.timeout.ms", "600000"));
            p.initTransactions();
            p.beginTransaction();
            p.send(record(topic, "in a transaction", null)).get();
            var offset = new OffsetAndMetadata(at, Optional.empty(), text("the metadata of a commit in a transaction"));
            p.sendOffsetsToTransaction(Map.of(new TopicPartition(topic, 0), offset), new ConsumerGroupMetadata(text("a group of a transaction")));
            if (at == 0) p.commitTransaction();
            if (at == 1) p.abortTransaction();
        }
    }

    /** An assignor that says something of its own with each subscription and assignment. */
    public static class Saying extends RangeAssignor {
        @Override public String name() { return "range"; }
        @Override public ByteBuffer subscriptionUserData(Set<String> topics) { return said("the user data of a subscription"); }
        @Override public GroupAssignment assign(org.apache.kafka.common.Cluster cluster, GroupSubscription subscriptions) {
            Map<String, Assignment> made = new HashMap<>();
            super.assign(cluster, subscriptions).groupAssignment().forEach((member, one) ->
                made.put(member, new Assignment(one.partitions(), said("the user data of an assignment"))));
            return new GroupAssignment(made);
        }
        static ByteBuffer said(String place) {
            try { return ByteBuffer.wrap(bytes(place, 32)); } catch (Exception e) { throw new IllegalStateException(e); }
        }
    }

    static void members(String topic, String protocol) throws Exception {
        Map<String, Object> props = new HashMap<>(Map.of("bootstrap.servers", bootstrap, "group.protocol", protocol, "group.id",
            text("a group, " + protocol), "client.id", text("a client id, " + protocol), "client.rack", text("a rack, " + protocol),
            "group.instance.id", text("an instance id, " + protocol), "auto.offset.reset", "earliest"));
        if (protocol.equals("classic")) props.put("partition.assignment.strategy", List.of(Saying.class));
        var consumer = new KafkaConsumer<>(props, new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        for (int at = 0; at < 60 && consumer.poll(Duration.ofMillis(500)).isEmpty(); at++) { }
        consumer.commitSync(Map.of(new TopicPartition(topic, 0), new OffsetAndMetadata(3, Optional.empty(), text("the metadata of a commit"))));
    }

    static void share(String topic) throws Exception {
        var consumer = new KafkaShareConsumer<>(Map.of("bootstrap.servers", bootstrap, "group.id", text("a share group"),
            "client.id", text("a client id, share")), new ByteArrayDeserializer(), new ByteArrayDeserializer());
        consumer.subscribe(List.of(topic));
        for (int at = 0; at < 10; at++) consumer.poll(Duration.ofMillis(300));
    }
}
