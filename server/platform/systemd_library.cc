#include "server/platform/systemd_library.h"

#include <dlfcn.h>

#include <type_traits>

namespace signalbox {
namespace {

constexpr const char* systemd_file = "libsystemd.so.0";

tl::expected<SystemdLibrary, std::string> load_systemd() {
  void* const file = ::dlopen(systemd_file, RTLD_LAZY | RTLD_LOCAL);
  bool complete = file != nullptr;
  const auto find = [&](auto& function, const char* name) {
    if (!complete) return;
    function = reinterpret_cast<std::remove_reference_t<decltype(function)>>(::dlsym(file, name));
    complete = function != nullptr;
  };
  SystemdLibrary library;
  find(library.notify, "sd_notify");
  find(library.watchdog_enabled, "sd_watchdog_enabled");
  find(library.journal_sendv, "sd_journal_sendv");
  if (complete) return library;
  const char* const why = ::dlerror();
  return tl::unexpected("libsystemd can't be loaded (Debian has it in libsystemd0): " +
                        std::string(why == nullptr ? systemd_file : why));
}

}  // namespace

const tl::expected<SystemdLibrary, std::string>& systemd_library() {
  static const tl::expected<SystemdLibrary, std::string> library = load_systemd();
  return library;
}

}  // namespace signalbox
