#include "tools/cli/text_source.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>

#include "domain/try.h"
#include "server/text/json_text.h"

namespace signalbox {

Called<std::string> read_file(const std::filesystem::path& path) {
  if (path.empty()) return tl::unexpected(usage_error("the file's name is empty"));
  const bool standard_input = path == "-";
  std::FILE* file = standard_input ? stdin : std::fopen(path.c_str(), "rbe");
  if (file == nullptr) {
    return tl::unexpected(usage_error("can't read " + path.string() + ": " + std::strerror(errno)));
  }
  const std::unique_ptr<std::FILE, void (*)(std::FILE*)> closed(
      file, [](std::FILE* open) { (void)std::fclose(open); });
  std::string text;
  char buffer[64 * 1024];
  while (text.size() <= source_bytes_max) {
    const std::size_t got = std::fread(buffer, 1, sizeof buffer, file);
    text.append(buffer, got);
    if (got < sizeof buffer) break;
  }
  if (std::ferror(file) != 0) {
    return tl::unexpected(usage_error("can't read " + path.string() + ": " + std::strerror(errno)));
  }
  if (text.size() > source_bytes_max) {
    return tl::unexpected(usage_error(path.string() + " has more than " +
                                      std::to_string(source_bytes_max) + " bytes"));
  }
  return text;
}

Called<std::string> text_from(const std::string& value) {
  if (!value.starts_with('@')) return value;
  return read_file(value.substr(1));
}

Called<boost::json::value> json_from(const std::string& value, std::string_view what) {
  const auto text = TRY(text_from(value));
  auto parsed = parse_json(text);
  if (parsed) return std::move(*parsed);
  return tl::unexpected(usage_error(std::string(what) + ": " + parsed.error().message));
}

}  // namespace signalbox
