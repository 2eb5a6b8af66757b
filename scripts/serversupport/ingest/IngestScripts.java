package esdedup.ingest;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.elasticsearch.script.IngestConditionalScript;
import org.elasticsearch.script.IngestScript;
import org.elasticsearch.script.ScriptContext;
import org.elasticsearch.script.ScriptEngine;

/**
 * The part of Painless that pipelines of tests use: conditions ({@code ctx.a == 'x' && ctx.b != null}) and statements
 * ({@code ctx.a = ctx.b + '-x'; ctx.remove('b')}). Anything else is refused.
 */
final class IngestScripts implements ScriptEngine {

    private static final Pattern TOKEN = Pattern.compile(
        "\\s*(?:(?<text>'[^']*'|\"[^\"]*\")|(?<number>\\d+)|(?<name>\\w+)|(?<sign>==|!=|&&|\\|\\||\\?\\.|[=+.;()\\[\\]]))");

    @Override
    public String getType() {
        return "painless";
    }

    @Override
    public Set<ScriptContext<?>> getSupportedContexts() {
        return Set.of(IngestScript.CONTEXT, IngestConditionalScript.CONTEXT);
    }

    @Override
    public <T> T compile(String name, String code, ScriptContext<T> context, Map<String, String> options) {
        Parser parser = new Parser(code);
        if (context.equals(IngestConditionalScript.CONTEXT)) {
            Function<Map<String, Object>, Object> condition = parser.condition();
            parser.end();
            IngestConditionalScript.Factory factory = parameters -> new IngestConditionalScript(parameters) {
                @Override
                public boolean execute(Map<String, Object> ctx) {
                    return Boolean.TRUE.equals(condition.apply(ctx));
                }
            };
            return context.factoryClazz.cast(factory);
        }
        List<Function<Map<String, Object>, Object>> statements = parser.statements();
        IngestScript.Factory factory = (parameters, ctx) -> new IngestScript(parameters, ctx) {
            @Override
            public void execute() {
                statements.forEach(statement -> statement.apply(ctx));
            }
        };
        return context.factoryClazz.cast(factory);
    }

    /** A recursive descent parser; each rule returns a function of {@code ctx}. */
    private static final class Parser {
        private final List<String> tokens = new ArrayList<>();
        private int at;

        Parser(String code) {
            Matcher matcher = TOKEN.matcher(code.strip());
            int end = 0;
            while (end < code.strip().length()) {
                if (matcher.find(end) == false || matcher.start() != end) {
                    throw new IllegalArgumentException("the test server cannot read the script at: " + code.strip().substring(end));
                }
                tokens.add(matcher.group().strip());
                end = matcher.end();
            }
        }

        List<Function<Map<String, Object>, Object>> statements() {
            List<Function<Map<String, Object>, Object>> found = new ArrayList<>();
            while (at < tokens.size()) {
                if (take(";") == false) {
                    found.add(statement());
                }
            }
            return found;
        }

        Function<Map<String, Object>, Object> condition() {
            Function<Map<String, Object>, Object> left = conjunction();
            while (take("||")) {
                Function<Map<String, Object>, Object> first = left;
                Function<Map<String, Object>, Object> second = conjunction();
                left = ctx -> (Boolean) first.apply(ctx) || (Boolean) second.apply(ctx);
            }
            return left;
        }

        void end() {
            if (at < tokens.size()) {
                throw unexpected();
            }
        }

        private Function<Map<String, Object>, Object> conjunction() {
            Function<Map<String, Object>, Object> left = comparison();
            while (take("&&")) {
                Function<Map<String, Object>, Object> first = left;
                Function<Map<String, Object>, Object> second = comparison();
                left = ctx -> (Boolean) first.apply(ctx) && (Boolean) second.apply(ctx);
            }
            return left;
        }

        private Function<Map<String, Object>, Object> comparison() {
            Function<Map<String, Object>, Object> left = sum();
            if (take("==")) {
                Function<Map<String, Object>, Object> right = sum();
                return ctx -> Objects.equals(left.apply(ctx), right.apply(ctx));
            }
            if (take("!=")) {
                Function<Map<String, Object>, Object> right = sum();
                return ctx -> Objects.equals(left.apply(ctx), right.apply(ctx)) == false;
            }
            return left;
        }

        private Function<Map<String, Object>, Object> statement() {
            Path path = path();
            if (path.names.size() == 1 && path.names.get(0).equals("remove") && take("(")) {
                Function<Map<String, Object>, Object> field = sum();
                expect(")");
                return ctx -> ctx.remove((String) field.apply(ctx));
            }
            expect("=");
            Function<Map<String, Object>, Object> value = sum();
            return ctx -> {
                path.write(ctx, value.apply(ctx));
                return null;
            };
        }

        private Function<Map<String, Object>, Object> sum() {
            Function<Map<String, Object>, Object> left = term();
            while (take("+")) {
                Function<Map<String, Object>, Object> first = left;
                Function<Map<String, Object>, Object> second = term();
                left = ctx -> String.valueOf(first.apply(ctx)) + second.apply(ctx);
            }
            return left;
        }

        private Function<Map<String, Object>, Object> term() {
            if (at < tokens.size() && tokens.get(at).equals("ctx")) {
                Path path = path();
                if (path.names.size() == 1 && path.names.get(0).equals("containsKey") && take("(")) {
                    Function<Map<String, Object>, Object> field = sum();
                    expect(")");
                    return ctx -> ctx.containsKey(field.apply(ctx));
                }
                return path::read;
            }
            String token = next();
            Object value = switch (token) {
                case "null" -> null;
                case "true" -> true;
                case "false" -> false;
                default -> literal(token);
            };
            return ctx -> value;
        }

        private Object literal(String token) {
            if (token.startsWith("'") || token.startsWith("\"")) {
                return token.substring(1, token.length() - 1);
            }
            if (token.chars().allMatch(Character::isDigit)) {
                return Integer.valueOf(token);
            }
            at--;
            throw unexpected();
        }

        private Path path() {
            expect("ctx");
            List<String> names = new ArrayList<>();
            while (true) {
                if (take(".") || take("?.")) {
                    names.add(next());
                } else if (take("[")) {
                    names.add((String) literal(next()));
                    expect("]");
                } else {
                    return new Path(names);
                }
            }
        }

        private boolean take(String token) {
            boolean found = at < tokens.size() && tokens.get(at).equals(token);
            at += found ? 1 : 0;
            return found;
        }

        private void expect(String token) {
            if (take(token) == false) {
                throw unexpected();
            }
        }

        private String next() {
            if (at == tokens.size()) {
                throw unexpected();
            }
            return tokens.get(at++);
        }

        private IllegalArgumentException unexpected() {
            String rest = String.join(" ", tokens.subList(Math.min(at, tokens.size()), tokens.size()));
            return new IllegalArgumentException("the test server cannot read the script at: " + rest);
        }
    }

    /** A field below {@code ctx}; a missing object on the way reads as null. */
    private record Path(List<String> names) {

        @SuppressWarnings("unchecked")
        private static Map<String, Object> below(Map<String, Object> place, String name) {
            return place != null && place.get(name) instanceof Map<?, ?> inner ? (Map<String, Object>) inner : null;
        }

        Object read(Map<String, Object> ctx) {
            Map<String, Object> place = parent(ctx);
            return place == null ? null : place.get(names.get(names.size() - 1));
        }

        void write(Map<String, Object> ctx, Object value) {
            Map<String, Object> place = parent(ctx);
            if (place == null) {
                throw new IllegalArgumentException("no object holds " + String.join(".", names));
            }
            place.put(names.get(names.size() - 1), value);
        }

        private Map<String, Object> parent(Map<String, Object> ctx) {
            Map<String, Object> place = ctx;
            for (String name : names.subList(0, names.size() - 1)) {
                place = below(place, name);
            }
            return place;
        }
    }
}
