// libsystemd, loaded when it is first needed. It brings libgcrypt and liblzma with it, which every
// command would wait for at its start. Only a service under systemd uses it.
#pragma once

#include <string>

#include <systemd/sd-daemon.h>
#include <systemd/sd-journal.h>
#include <tl/expected.hpp>

namespace signalbox {

// The functions of libsystemd that are used here, under their names without `sd_`.
struct SystemdLibrary {
  decltype(&::sd_notify) notify = nullptr;
  decltype(&::sd_watchdog_enabled) watchdog_enabled = nullptr;
  decltype(&::sd_journal_sendv) journal_sendv = nullptr;  // without a place in the sources
};

// Returns the library, which stays loaded, or why it can't be loaded, for a person: that is found
// out once. The first call blocks on the disk. Any thread.
const tl::expected<SystemdLibrary, std::string>& systemd_library();

}  // namespace signalbox
