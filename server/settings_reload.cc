#include "server/settings_reload.h"

#include <unistd.h>

#include <utility>

#include "domain/try.h"
#include "server/limits.h"
#include "server/platform/service_manager.h"
#include "server/text/separated_text.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

std::string reload_text(const ChangedSettings& changed) {
  std::string text = "settings reloaded: ";
  text += changed.applied.empty() ? "no setting changed"
                                  : "changed " + comma_separated(changed.applied);
  if (changed.at_next_start.empty()) return text;
  return text + "; " + comma_separated(changed.at_next_start) + " will change at the next start";
}

}  // namespace

SettingsReload::SettingsReload(Config& config, const ReloadSource& source, BlockingPool files,
                               const Clock& clock, spdlog::logger& logger, Apply apply)
    : config_(config),
      source_(source),
      files_(std::move(files)),
      clock_(clock),
      logger_(logger),
      apply_(std::move(apply)),
      status_{clock.wall_ns(), 0, {}} {}

void SettingsReload::start(const Post& post) {
  source_.signal.on_signal([this, post] { post([this] { reload(); }); });
}

void SettingsReload::stop() {
  source_.signal.on_signal(nullptr);
  if (std::exchange(stopped_, true)) return;
  if (reading_) source_.signal.postpone();
}

void SettingsReload::reload() {
  if (stopped_) return source_.signal.postpone();
  if (reading_) {
    again_ = true;
    return;
  }
  reading_ = true;
  notify_reloading("reading the settings");
  // Files may be on a disk that doesn't answer, which must not hold up the engine.
  Lane lane{.name = "settings", .deadline_ms = settings_read_ms_max, .failed = [this](LaneFailure) {
              finish(tl::unexpected("the files couldn't be read within " +
                                    format_duration_ms(settings_read_ms_max)));
            }};
  const bool has_tls = !config_.listen.empty() && !config_.tls_key.empty();
  files_.run(std::move(lane), [this, has_tls]() -> std::function<void()> {
    auto read = read_files(has_tls);
    return [this, read = std::move(read)]() mutable { finish(std::move(read)); };
  });
}

tl::expected<SettingsReload::Read, std::string> SettingsReload::read_files(bool has_tls) const {
  Read read;
  auto config = TRY(source_.read());
  read.config = std::move(config);
  if (!has_tls || read.config.tls_key.empty()) return read;
  auto tls = TRY(read_tls_identity(read.config.tls_certificate, read.config.tls_key));
  read.tls = std::move(tls);
  return read;
}

void SettingsReload::finish(tl::expected<Read, std::string> read) {
  reading_ = false;
  if (stopped_) return;
  if (read) {
    status_ = {clock_.wall_ns(), 0, {}};
    const ChangedSettings changed = apply_changes(config_, std::move(read->config));
    apply_(config_, read->tls);
    logger_.log(changed.at_next_start.empty() ? spdlog::level::info : spdlog::level::warn, "{}",
                reload_text(changed));
  } else {
    status_.refused_at_ns = clock_.wall_ns();
    status_.error = read.error();
    logger_.error("the settings stay as they are: {}; once that is mended: kill -HUP {}",
                  read.error(), ::getpid());
  }
  notify_ready("serving");
  if (std::exchange(again_, false)) reload();
}

StatusPart status_of(const SettingsReload& reload) {
  return [&reload](boost::json::object& status) {
    const SettingsStatus& latest = reload.status();
    boost::json::object& settings = status["settings"].emplace_object();
    settings["loaded_at"] = format_time(latest.loaded_at_ns);
    boost::json::value& refused = settings["refused"];
    if (latest.error.empty()) return;
    refused = {{"at", format_time(latest.refused_at_ns)},
               {"error", latest.error},
               {"next_commands", {"kill -HUP " + std::to_string(::getpid())}}};
  };
}

}  // namespace signalbox
