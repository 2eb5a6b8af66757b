package esdedup.ingest;

import java.lang.reflect.Proxy;
import java.nio.charset.StandardCharsets;
import java.security.MessageDigest;
import java.time.OffsetDateTime;
import java.time.ZoneOffset;
import java.time.format.DateTimeFormatter;
import java.util.ArrayList;
import java.util.Base64;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.TreeSet;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.elasticsearch.common.settings.Settings;
import org.elasticsearch.ingest.AbstractProcessor;
import org.elasticsearch.ingest.ConfigurationUtils;
import org.elasticsearch.ingest.DropProcessor;
import org.elasticsearch.ingest.IngestDocument;
import org.elasticsearch.ingest.PipelineProcessor;
import org.elasticsearch.ingest.Processor;
import org.elasticsearch.plugins.IngestPlugin;
import org.elasticsearch.plugins.Plugin;
import org.elasticsearch.plugins.ScriptPlugin;
import org.elasticsearch.script.IngestScript;
import org.elasticsearch.script.Script;
import org.elasticsearch.script.ScriptContext;
import org.elasticsearch.script.ScriptEngine;
import org.elasticsearch.script.ScriptType;

/**
 * Ingest processors for test servers whose distribution has none, with the names and options of the module ingest-common.
 * Options that no test needs are unknown here, and a pipeline that names one is refused.
 */
public class IngestProcessors extends Plugin implements IngestPlugin, ScriptPlugin {

    /** What a processor does with one document; null drops the document. */
    private interface Step {
        IngestDocument run(IngestDocument document) throws Exception;
    }

    /** Makes a step from the options of a processor and takes them out of the map: options that are left are an error. */
    private interface Maker {
        Step make(String tag, Map<String, Object> options) throws Exception;
    }

    private static final class StepProcessor extends AbstractProcessor {
        private final String type;
        private final Step step;

        StepProcessor(String type, String tag, String description, Step step) {
            super(tag, description);
            this.type = type;
            this.step = step;
        }

        @Override
        public IngestDocument execute(IngestDocument document) throws Exception {
            return step.run(document);
        }

        @Override
        public String getType() {
            return type;
        }
    }

    /** The server derives the error type `fail_processor_exception` from this name. */
    public static final class FailProcessorException extends RuntimeException {
        FailProcessorException(String message) {
            super(message);
        }
    }

    private static final Pattern TEMPLATE = Pattern.compile("\\{\\{\\{?\\s*([\\w.]+)\\s*}?}}");

    @Override
    public Map<String, Processor.Factory> getProcessors(Processor.Parameters parameters) {
        Map<String, Processor.Factory> found = new HashMap<>();
        found.put("drop", new DropProcessor.Factory());
        found.put("pipeline", new PipelineProcessor.Factory(parameters.ingestService));
        add(found, "fail", IngestProcessors::fail);
        add(found, "set", IngestProcessors::set);
        add(found, "rename", IngestProcessors::rename);
        add(found, "remove", IngestProcessors::remove);
        add(found, "html_strip", IngestProcessors::htmlStrip);
        add(found, "fingerprint", IngestProcessors::fingerprint);
        add(found, "date_index_name", IngestProcessors::dateIndexName);
        add(found, "reroute", IngestProcessors::reroute);
        add(found, "script", (tag, options) -> {
            String source = ConfigurationUtils.readStringProperty("script", tag, options, "source");
            String language = ConfigurationUtils.readStringProperty("script", tag, options, "lang", Script.DEFAULT_SCRIPT_LANG);
            Script script = new Script(ScriptType.INLINE, language, source, Map.of());
            IngestScript.Factory factory = parameters.scriptService.compile(script, IngestScript.CONTEXT);
            return document -> {
                factory.newInstance(script.getParams(), document.getCtxMap()).execute();
                return document;
            };
        });
        return found;
    }

    @Override
    public ScriptEngine getScriptEngine(Settings settings, Collection<ScriptContext<?>> contexts) {
        return new IngestScripts();
    }

    /** Factories are proxies, because {@code create} has one more parameter, the last, since Elasticsearch 9. */
    @SuppressWarnings("unchecked")
    private static void add(Map<String, Processor.Factory> processors, String type, Maker maker) {
        ClassLoader loader = IngestProcessors.class.getClassLoader();
        processors.put(type, (Processor.Factory) Proxy.newProxyInstance(loader, new Class<?>[] { Processor.Factory.class },
            (proxy, method, given) -> {
                if (method.getName().equals("create") == false) {
                    throw new UnsupportedOperationException(method.getName());
                }
                Step step = maker.make((String) given[1], (Map<String, Object>) given[3]);
                return new StepProcessor(type, (String) given[1], (String) given[2], step);
            }));
    }

    private static Step fail(String tag, Map<String, Object> options) {
        String message = ConfigurationUtils.readStringProperty("fail", tag, options, "message");
        return document -> {
            throw new FailProcessorException(filled(message, document));
        };
    }

    private static Step set(String tag, Map<String, Object> options) {
        String field = ConfigurationUtils.readStringProperty("set", tag, options, "field");
        String source = ConfigurationUtils.readOptionalStringProperty("set", tag, options, "copy_from");
        boolean override = ConfigurationUtils.readBooleanProperty("set", tag, options, "override", true);
        Object value = source == null ? ConfigurationUtils.readObject("set", tag, options, "value") : null;
        return document -> {
            if (override || document.hasField(field) == false) {
                Object copied = source == null ? value : document.getFieldValue(source, Object.class);
                document.setFieldValue(field, source == null && copied instanceof String text ? filled(text, document) : copied);
            }
            return document;
        };
    }

    private static Step rename(String tag, Map<String, Object> options) {
        String field = ConfigurationUtils.readStringProperty("rename", tag, options, "field");
        String target = ConfigurationUtils.readStringProperty("rename", tag, options, "target_field");
        boolean ignoreMissing = ConfigurationUtils.readBooleanProperty("rename", tag, options, "ignore_missing", false);
        boolean override = ConfigurationUtils.readBooleanProperty("rename", tag, options, "override", false);
        return document -> {
            if (document.hasField(field, ignoreMissing == false) == false) {
                if (ignoreMissing) {
                    return document;
                }
                throw new IllegalArgumentException("field [" + field + "] doesn't exist");
            }
            if (document.hasField(target) && override == false) {
                throw new IllegalArgumentException("field [" + target + "] already exists");
            }
            Object value = document.getFieldValue(field, Object.class);
            document.removeField(field);
            document.setFieldValue(target, value);
            return document;
        };
    }

    private static Step remove(String tag, Map<String, Object> options) {
        boolean ignoreMissing = ConfigurationUtils.readBooleanProperty("remove", tag, options, "ignore_missing", false);
        if (options.containsKey("keep")) {
            List<String> kept = ConfigurationUtils.readOptionalListOrString("remove", tag, options, "keep");
            return document -> {
                for (String field : new ArrayList<>(document.getSource().keySet())) {
                    if (kept.stream().noneMatch(name -> name.equals(field) || name.startsWith(field + "."))) {
                        document.removeField(field);
                    }
                }
                return document;
            };
        }
        List<String> fields = ConfigurationUtils.readOptionalListOrString("remove", tag, options, "field");
        return document -> {
            for (String field : fields) {
                if (ignoreMissing == false || document.hasField(field)) {
                    document.removeField(field);
                }
            }
            return document;
        };
    }

    private static Step htmlStrip(String tag, Map<String, Object> options) {
        String field = ConfigurationUtils.readStringProperty("html_strip", tag, options, "field");
        String target = ConfigurationUtils.readStringProperty("html_strip", tag, options, "target_field", field);
        return document -> {
            document.setFieldValue(target, document.getFieldValue(field, String.class).replaceAll("<[^>]*>", "\n"));
            return document;
        };
    }

    private static Step fingerprint(String tag, Map<String, Object> options) {
        List<String> fields = ConfigurationUtils.readOptionalListOrString("fingerprint", tag, options, "fields");
        String target = ConfigurationUtils.readStringProperty("fingerprint", tag, options, "target_field", "fingerprint");
        String method = ConfigurationUtils.readStringProperty("fingerprint", tag, options, "method", "SHA-1");
        boolean ignoreMissing = ConfigurationUtils.readBooleanProperty("fingerprint", tag, options, "ignore_missing", false);
        return document -> {
            MessageDigest digest = MessageDigest.getInstance(method);
            for (String field : new TreeSet<>(fields)) {
                if (document.hasField(field) || ignoreMissing == false) {
                    Object value = document.getFieldValue(field, Object.class);
                    digest.update((field + '\0' + value + '\0').getBytes(StandardCharsets.UTF_8));
                }
            }
            document.setFieldValue(target, Base64.getEncoder().encodeToString(digest.digest()));
            return document;
        };
    }

    /** The index becomes a date math expression, which the server resolves after the pipeline. */
    private static Step dateIndexName(String tag, Map<String, Object> options) {
        String field = ConfigurationUtils.readStringProperty("date_index_name", tag, options, "field");
        String prefix = ConfigurationUtils.readStringProperty("date_index_name", tag, options, "index_name_prefix", "");
        String rounding = ConfigurationUtils.readStringProperty("date_index_name", tag, options, "date_rounding");
        String format = ConfigurationUtils.readStringProperty("date_index_name", tag, options, "index_name_format", "yyyy-MM-dd");
        return document -> {
            String given = document.getFieldValue(field, String.class);
            OffsetDateTime date = OffsetDateTime.parse(given.contains("T") ? given : given + "T00:00:00Z");
            String utc = date.withOffsetSameInstant(ZoneOffset.UTC).format(DateTimeFormatter.ofPattern("yyyy-MM-dd'T'HH:mm:ss"));
            document.setFieldValue("_index", "<" + prefix + "{" + utc + "||/" + rounding + "{" + format + "|UTC}}>");
            return document;
        };
    }

    private static Step reroute(String tag, Map<String, Object> options) {
        String destination = ConfigurationUtils.readStringProperty("reroute", tag, options, "destination");
        return document -> {
            document.reroute(destination);
            return document;
        };
    }

    /** The text with the values of fields in place of {@code {{field}}} and {@code {{{field}}}}. */
    private static String filled(String text, IngestDocument document) {
        return TEMPLATE.matcher(text).replaceAll(found -> {
            boolean present = document.hasField(found.group(1));
            return Matcher.quoteReplacement(present ? String.valueOf(document.getFieldValue(found.group(1), Object.class)) : "");
        });
    }
}
