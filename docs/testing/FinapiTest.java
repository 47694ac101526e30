// A client under test, with JUnit 5 on Java 11 or later: pipx install FINAPI.whl, and run it as any test.
import static org.junit.jupiter.api.Assertions.assertEquals;

import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.util.ArrayList;
import java.util.List;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;

class FinapiTest {
    static Process server;
    static String ready;
    static HttpClient http = HttpClient.newHttpClient();

    @BeforeAll
    static void start() throws Exception {
        String command = System.getenv().getOrDefault("FIXTURE_COMMAND", "finapi");
        List<String> arguments = new ArrayList<>(List.of(command.split(" ")));
        arguments.addAll(List.of("fixture", "--port", "0", "--ready", "json", "--exit-with-parent"));
        server = new ProcessBuilder(arguments).redirectError(ProcessBuilder.Redirect.INHERIT).start();
        ready = new BufferedReader(new InputStreamReader(server.getInputStream())).readLine();
    }

    @AfterAll
    static void stop() throws Exception {
        server.getOutputStream().close();
        assertEquals(0, server.waitFor());
    }

    static String readyMember(String name) {
        Matcher match = Pattern.compile("\"" + name + "\": \"([^\"]*)\"").matcher(ready);
        return match.find() ? match.group(1) : "";
    }

    static HttpResponse<String> send(HttpRequest.Builder request) throws Exception {
        return http.send(request.build(), HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void aFaultAppliesOnce() throws Exception {
        String fault = "{\"route\": \"GET /api/v1/account/*\", \"status\": 503, \"times\": 1}";
        HttpRequest.Builder control = HttpRequest.newBuilder(URI.create(readyMember("control_url") + "/faults"));
        control.header("X-Control-Token", readyMember("control_token")).POST(HttpRequest.BodyPublishers.ofString(fault));
        assertEquals(200, send(control).statusCode());
        URI balance = URI.create(readyMember("url") + "/api/v1/account/balance");
        HttpRequest.Builder call = HttpRequest.newBuilder(balance).header("X-API-Key", readyMember("api_key"));
        assertEquals(503, send(call).statusCode());
        assertEquals(200, send(call).statusCode());
    }
}
