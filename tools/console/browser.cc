#include "tools/console/browser.h"

#include <cstdlib>
#include <string_view>
#include <utility>

#include <unistd.h>

#include "server/platform/child_process.h"
#include "server/platform/environment_variable.h"
#include "store/file_descriptor.h"

namespace signalbox {
namespace {

// Some openers stay as long as the browser that they start: they are left to the desktop.
constexpr std::int64_t opening_ms_max = 5000;

}  // namespace

std::optional<BrowserPage> BrowserPage::write(const std::string& address) {
  std::error_code error;
  std::string folder = environment_variable("XDG_RUNTIME_DIR");
  if (folder.empty()) folder = std::filesystem::temp_directory_path(error).string();
  constexpr std::string_view ending = ".html";
  std::string path = folder + "/signalbox-console-XXXXXX" + std::string(ending);
  const FileDescriptor file(::mkstemps(path.data(), static_cast<int>(ending.size())));  // mode 0600
  if (!file) return std::nullopt;
  // The address has only characters that need no escape here.
  const bool is_whole = write_all(
      file,
      "<!doctype html><meta charset=\"utf-8\"><meta http-equiv=\"refresh\" content=\"0; url=" +
          address + "\"><a href=\"" + address + "\">The console</a>\n");
  BrowserPage page((std::filesystem::path(path)));
  if (!is_whole) return std::nullopt;
  return page;
}

BrowserPage::~BrowserPage() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove(path_, ignored);
}

bool BrowserPage::open() const {
  if (environment_variable("DISPLAY").empty() && environment_variable("WAYLAND_DISPLAY").empty())
    return false;
  ChildProcess::Settings settings;
  settings.argv = {"xdg-open", path_.string()};
  settings.group = ChildProcess::Group::own_session;
  auto opener = ChildProcess::start(std::move(settings));
  if (!opener) return false;
  const bool has_ended = opener->await_end(ChildProcess::now_ms() + opening_ms_max);
  return !has_ended || opener->exit_code() == 0;
}

}  // namespace signalbox
