// Calls the loader classes of an official Kafka release on a log directory, and prints what they did: a line of JSON for
// each file or log. No broker is started. tools/loader_judge.py runs it on a copy, since the loader writes.

import java.io.File;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Files;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;

public class LoaderJudge {
    static final String LOG = "org.apache.kafka.storage.internals.log.";

    public static void main(String[] args) throws Exception {
        File home = new File(args[0]).getAbsoluteFile();
        tried("meta.properties", () -> {
            Object loader = Class.forName("org.apache.kafka.metadata.properties.MetaPropertiesEnsemble$Loader")
                .getConstructor().newInstance();
            call(loader, "addLogDirs", List.of(home.getPath()));
            Object ensemble = call(loader, "load");
            Class<?> flag = Class.forName("org.apache.kafka.metadata.properties.MetaPropertiesEnsemble$VerificationFlag");
            Method verify = Arrays.stream(ensemble.getClass().getMethods())
                .filter(one -> one.getName().equals("verify")).findFirst().get();
            @SuppressWarnings({"unchecked", "rawtypes"})
            Object flags = java.util.EnumSet.noneOf((Class) flag);
            verify.invoke(ensemble, Optional.empty(), java.util.OptionalInt.empty(), flags);
            return String.valueOf(call(ensemble, "clusterId"));
        });
        if (new File(home, "bootstrap.checkpoint").exists()) {
            tried("bootstrap.checkpoint", () -> {
                Class<?> kind = Class.forName("org.apache.kafka.metadata.bootstrap.BootstrapDirectory");
                Object directory;
                try {
                    directory = kind.getConstructor(String.class).newInstance(home.getPath());
                } catch (NoSuchMethodException before4) {
                    directory = kind.getConstructor(String.class, Optional.class).newInstance(home.getPath(), Optional.empty());
                }
                return String.valueOf(call(directory, "read"));
            });
        }
        boolean clean = new File(home, ".kafka_cleanshutdown").exists();
        Map<String, Long> recovery = offsets(new File(home, "recovery-point-offset-checkpoint"));
        Map<String, Long> starts = offsets(new File(home, "log-start-offset-checkpoint"));
        File[] folders = home.listFiles(File::isDirectory);
        Arrays.sort(folders);
        for (File folder : folders) {
            String name = folder.getName();
            boolean metadata = name.equals("__cluster_metadata-0");
            tried(name, () -> {
                call(null, Class.forName("org.apache.kafka.storage.internals.log.UnifiedLog"), "parseTopicPartitionName", folder);
                return "";
            }, false);
            tried(name, () -> load(folder, metadata ? 0 : starts.getOrDefault(name, 0L),
                metadata ? 0 : recovery.getOrDefault(name, 0L), clean && !metadata));
        }
        System.exit(0);  // schedulers of metrics
    }

    /** Load a log by UnifiedLog.create, or by UnifiedLog.apply before 4.0: arguments by their types, in their order. */
    static String load(File folder, long start, long recovery, boolean clean) throws Exception {
        Method make = null;
        for (String name : List.of(LOG + "UnifiedLog", "kafka.log.UnifiedLog")) {
            try {
                for (Method one : Class.forName(name).getMethods()) {
                    boolean found = one.getName().equals("create") || one.getName().equals("apply");
                    if (found && Modifier.isStatic(one.getModifiers())
                            && (make == null || one.getParameterCount() > make.getParameterCount())) {
                        make = one;
                    }
                }
            } catch (ClassNotFoundException other) {
                continue;
            }
            if (make != null) break;
        }
        long[] longs = {start, recovery};
        int[] ints = {300_000, 600_000};
        boolean[] booleans = {clean, true, false};
        int atLong = 0, atInt = 0, atBoolean = 0;
        Object[] given = new Object[make.getParameterCount()];
        Class<?> channel = Class.forName(LOG + "LogDirFailureChannel");
        Object failures = channel.getConstructor(int.class).newInstance(10);
        for (int at = 0; at < given.length; at++) {
            Class<?> kind = make.getParameterTypes()[at];
            String name = kind.getSimpleName();
            if (kind == File.class) given[at] = folder;
            else if (kind == long.class) given[at] = longs[atLong++];
            else if (kind == int.class) given[at] = ints[atInt++];
            else if (kind == boolean.class) given[at] = booleans[atBoolean++];
            else if (name.equals("LogConfig")) given[at] = kind.getConstructor(Map.class).newInstance(new Properties());
            else if (name.equals("Scheduler"))
                given[at] = Class.forName("org.apache.kafka.server.util.KafkaScheduler").getConstructor(int.class).newInstance(1);
            else if (name.equals("Time")) given[at] = kind.getField("SYSTEM").get(null);
            else if (name.equals("LogDirFailureChannel")) given[at] = failures;
            else if (name.equals("BrokerTopicStats")) given[at] = stats(kind);
            else if (name.equals("ProducerStateManagerConfig"))
                given[at] = kind.getConstructor(int.class, boolean.class).newInstance(86_400_000, true);
            else if (name.equals("ConcurrentMap")) given[at] = new ConcurrentHashMap<>();
            else if (name.equals("LogOffsetsListener")) given[at] = kind.getField("NO_OP_OFFSETS_LISTENER").get(null);
            else if (kind == Optional.class) given[at] = Optional.empty();
            else if (name.equals("Option")) given[at] = Class.forName("scala.None$").getField("MODULE$").get(null);
            else throw new IllegalStateException("no argument of " + kind);
        }
        Object log = make.invoke(null, given);
        boolean offline = (boolean) call(failures, "hasOfflineLogDir", folder.getParent());
        return "log start " + call(log, "logStartOffset") + ", log end " + call(log, "logEndOffset")
            + (offline ? ", directory offline" : "");
    }

    static Object stats(Class<?> kind) throws Exception {
        try {
            return kind.getConstructor().newInstance();
        } catch (NoSuchMethodException before4) {
            return kind.getConstructor(boolean.class).newInstance(false);
        }
    }

    /** Read a checkpoint as LogManager does: one that it can't read counts as empty. */
    static Map<String, Long> offsets(File file) {
        Map<String, Long> found = new HashMap<>();
        if (!file.exists()) return found;
        try {
            List<String> lines = Files.readAllLines(file.toPath());
            if (lines.size() - 2 != Integer.parseInt(lines.get(1))) throw new IllegalStateException("the count is wrong");
            for (String line : lines.subList(2, lines.size())) {
                String[] parts = line.split("\\s+");
                found.put(parts[0] + "-" + parts[1], Long.parseLong(parts[2]));
            }
        } catch (Exception error) {
            thrown(file.getName(), error);
        }
        return found;
    }

    interface Step {
        String take() throws Exception;
    }

    static void tried(String what, Step step) {
        tried(what, step, true);
    }

    static void tried(String what, Step step, boolean told) {
        try {
            String result = step.take();
            if (told) said(what, "did", result);
        } catch (ClassNotFoundException | NoSuchMethodException absent) {
            if (told) said(what, "absent", String.valueOf(absent));
        } catch (InvocationTargetException error) {
            thrown(what, error.getCause());
        } catch (Throwable error) {
            thrown(what, error);
        }
    }

    static void thrown(String what, Throwable error) {
        said(what, "throws", error.getClass().getSimpleName() + ": " + error.getMessage());
    }

    static Object call(Object on, String name, Object... given) throws Exception {
        return call(on, on.getClass(), name, given);
    }

    static Object call(Object on, Class<?> kind, String name, Object... given) throws Exception {
        for (Method one : kind.getMethods()) {
            if (one.getName().equals(name) && one.getParameterCount() == given.length) {
                one.setAccessible(true);
                return one.invoke(on, given);
            }
        }
        throw new NoSuchMethodException(name);
    }

    static void said(String what, String how, String text) {
        System.out.println("{\"what\": \"" + quoted(what) + "\", \"" + how + "\": \"" + quoted(text) + "\"}");
    }

    static String quoted(String text) {
        StringBuilder made = new StringBuilder();
        for (char one : text.toCharArray()) {
            if (one == '"' || one == '\\') made.append('\\').append(one);
            else if (one < ' ') made.append(' ');
            else made.append(one);
        }
        return made.toString();
    }
}
