// `signalbox serve`: runs the server in the foreground.
#include <memory>

#include "server/serve.h"
#include "tools/audit/retention.h"
#include "tools/audit/service_redaction.h"
#include "tools/cli/commands.h"

namespace signalbox {

void add_serve_command(ToolCommand app, Invocation& invocation) {
  ToolCommand serve = app.add_subcommand("serve", "Run the server, until SIGTERM or SIGINT");
  const auto options = std::make_shared<ServeOptions>();
  serve
      .add_option("--listen", options->listen,
                  "Serve TCP as well; needs TLS unless it is a loopback address")
      .type_name("HOST:PORT");
  serve
      .add_option("--loopback-role", options->loopback_role,
                  "What every user of this machine may do over TCP without an access token; "
                  "default: none")
      .type_name("ROLE");
  serve.add_option("--config", options->config, "A TOML file; flags override it").type_name("FILE");
  serve.add_option("--log-level", options->log_level, "debug, info, warn, error")
      .type_name("LEVEL");
  serve
      .add_option("--log-format", options->log_format,
                  "auto, text, json or journal; default: auto, the journal if stderr goes there")
      .type_name("FORMAT");
  serve.add_option("--jobs-max", options->jobs_max, "Local jobs that run at the same time");
  serve.add_option("--remote-jobs-max", options->remote_jobs_max,
                   "Remote jobs (modal) that run at the same time");
  serve.add_option("--snapshot-events", options->snapshot_events,
                   "Take a snapshot of the state every so many events");
  serve
      .add_option("--watchdog-interval", options->watchdog_interval,
                  "How often the watchdog checks running attempts; default: 5s")
      .type_name("DURATION");
  serve
      .add_option("--default-pipeline", options->default_pipeline,
                  "Who does the work of runs that name no pipeline: agents or workers; "
                  "default: agents")
      .type_name("WHO");
  serve
      .add_option("--traces-endpoint", options->traces_endpoint,
                  "Send each run's trace to an OpenTelemetry collector, as OTLP/JSON over HTTP")
      .type_name("URL");
  serve
      .add_option("--run-root-below", options->run_roots,
                  "Clients that aren't admin may name run roots below this directory")
      .type_name("DIR");
  serve.footer(
      "The file also has settings without a flag: connections_max,\n"
      "caller_connections_max, socket_role, tls_certificate, tls_key, http_hosts,\n"
      "audit_key, and the tables [artifacts], [board], [cell], [traces], [retention].\n\n"
      "Examples:\n"
      "  signalbox serve\n"
      "  signalbox serve --data ./box --log-format json\n"
      "  signalbox serve --data ./box --listen 127.0.0.1:7070");
  serve.action([options, &invocation] {
    options->data = invocation.data_directory();
    options->socket = invocation.socket_path();
    return static_cast<ExitCode>(
        run_server(*options, LogRewriters{stage_in_service(), plan_redaction_in_service()}));
  });
}

}  // namespace signalbox
