// Reads the settings, and the certificate with its key, again on SIGHUP, and applies what a running
// service can change. All or nothing: with an invalid file, everything stays as it was.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>

#include <spdlog/logger.h>
#include <tl/expected.hpp>

#include "server/config.h"
#include "server/platform/blocking_pool.h"
#include "server/platform/clock.h"
#include "server/platform/reload_signal.h"
#include "server/rpc/methods/families.h"
#include "server/tls_identity.h"

namespace signalbox {

// Reads the settings of this process again: the file, with the flags over it.
using ReadConfig = std::function<tl::expected<Config, std::string>()>;

// What a Server needs for reloads. It all outlives the Server.
struct ReloadSource {
  ReloadSignal& signal;
  ReadConfig read;
};

// The result of the latest reading of the settings.
struct SettingsStatus {
  std::int64_t loaded_at_ns = 0;   // when the settings in force were read
  std::int64_t refused_at_ns = 0;  // of the latest reload, if it was refused
  std::string error;               // why it was refused; empty: it wasn't

  friend bool operator==(const SettingsStatus&, const SettingsStatus&) = default;
};

// All calls come from the engine thread.
class SettingsReload {
 public:
  // Applies the settings. `tls` is set if there is TLS.
  using Apply = std::function<void(const Config& config, const std::optional<TlsIdentity>& tls)>;

  // Changes `config` with each reload.
  SettingsReload(Config& config, const ReloadSource& source, BlockingPool files, const Clock& clock,
                 spdlog::logger& logger, Apply apply);

  ~SettingsReload() { stop(); }
  SettingsReload(const SettingsReload&) = delete;
  SettingsReload& operator=(const SettingsReload&) = delete;

  // Begins to react to the signal. `post` runs an action on the engine thread; called on any.
  void start(const Post& post);
  // Stops reacting. A signal that comes from now on, or whose reload isn't done, is left to the
  // next Server of this process.
  void stop();

  [[nodiscard]] const SettingsStatus& status() const { return status_; }

 private:
  struct Read {
    Config config;
    std::optional<TlsIdentity> tls;
  };

  void reload();
  [[nodiscard]] tl::expected<Read, std::string> read_files(bool has_tls) const;
  void finish(tl::expected<Read, std::string> read);

  Config& config_;
  const ReloadSource source_;
  const BlockingPool files_;
  const Clock& clock_;
  spdlog::logger& logger_;
  const Apply apply_;
  SettingsStatus status_;
  bool reading_ = false;
  bool again_ = false;  // a signal came while the files were read
  bool stopped_ = false;
};

// Adds `settings` to the status: when they were read, and why the latest reload was refused.
StatusPart status_of(const SettingsReload& reload);

}  // namespace signalbox
