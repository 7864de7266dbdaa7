#include "server/platform/systemd_library.h"

#include "store/loaded_library.h"

namespace signalbox {
namespace {

tl::expected<SystemdLibrary, std::string> load_systemd() {
  LoadedLibrary file("libsystemd.so.0", "libsystemd0");
  SystemdLibrary library;
  file.find(library.notify, "sd_notify");
  file.find(library.watchdog_enabled, "sd_watchdog_enabled");
  file.find(library.journal_sendv, "sd_journal_sendv");
  if (!file.problem().empty()) return tl::unexpected(file.problem());
  return library;
}

}  // namespace

const tl::expected<SystemdLibrary, std::string>& systemd_library() {
  static const tl::expected<SystemdLibrary, std::string> library = load_systemd();
  return library;
}

}  // namespace signalbox
