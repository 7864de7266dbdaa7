#include "tools/invocation.h"

#include <cstdio>
#include <cstdlib>

#include <unistd.h>
#include <boost/json/serialize.hpp>

namespace signalbox {
namespace {

namespace json = boost::json;

std::string environment(const char* name) {
  const char* value = std::getenv(name);
  return value == nullptr ? std::string() : std::string(value);
}

std::filesystem::path absolute_path(const std::filesystem::path& path) {
  std::error_code error;
  const auto result = std::filesystem::absolute(path, error);
  return error ? path : result.lexically_normal();
}

}  // namespace

std::filesystem::path Invocation::data_directory() const {
  if (!data.empty()) return absolute_path(data);
  if (const auto given = environment("SIGNALBOX_DATA"); !given.empty()) return absolute_path(given);
  if (const auto state = environment("XDG_STATE_HOME"); !state.empty()) {
    return absolute_path(std::filesystem::path(state) / "signalbox");
  }
  const auto home = environment("HOME");
  return absolute_path(std::filesystem::path(home.empty() ? "." : home) / ".local/state/signalbox");
}

std::filesystem::path Invocation::socket_path() const {
  if (!socket.empty()) return absolute_path(socket);
  if (data.empty()) {
    if (const auto given = environment("SIGNALBOX_SOCKET"); !given.empty())
      return absolute_path(given);
  }
  return data_directory() / "signalbox.sock";
}

ExitCode answer(const Invocation& invocation, const Called<json::object>& result,
                const View& view) {
  if (invocation.json) {
    json::object object;
    object["ok"] = result.has_value();
    if (result) {
      object["result"] = *result;
    } else {
      object["error"] = result.error().error;
    }
    write_out(json::serialize(object) + "\n");
  } else if (result) {
    write_out(view(*result, terminal_of(STDOUT_FILENO)));
  } else {
    write_message(describe(result.error()));
  }
  return result ? ExitCode::ok : result.error().exit_code;
}

void write_out(std::string_view text) {
  if (std::fwrite(text.data(), 1, text.size(), stdout) == text.size() && std::fflush(stdout) == 0) {
    return;
  }
  write_message("signalbox: the output could not be written\n");
  std::_Exit(static_cast<int>(ExitCode::io));
}

void write_message(std::string_view text) {
  (void)std::fwrite(text.data(), 1, text.size(), stderr);
}

}  // namespace signalbox
