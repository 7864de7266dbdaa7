#include "server/executors/log_excerpt.h"

#include <algorithm>

#include "domain/text_parts.h"
#include "server/text/utf8_text.h"

namespace signalbox {
namespace {

constexpr std::size_t last_lines_max = 3;
constexpr std::size_t last_lines_bytes_max = 300;

// Reserved for the headings and notes of both streams.
constexpr std::size_t notes_bytes = 512;

struct StreamText {
  std::string name;
  std::uint64_t stream_bytes;
  std::string head;
  std::string tail;

  [[nodiscard]] std::size_t size() const { return head.size() + tail.size(); }
};

StreamText text_of(const std::string& name, const KeptLog& log) {
  return {name, log.stream_bytes, with_replacements(log.head), with_replacements(log.tail)};
}

std::string heading(const StreamText& stream) {
  return "--- " + stream.name + ", " + std::to_string(stream.stream_bytes) + " bytes ---\n";
}

std::string line_end(std::string_view text) {
  return text.empty() || text.back() == '\n' ? "" : "\n";
}

std::string section(const StreamText& stream, bool cut, std::size_t bytes_max) {
  if (stream.stream_bytes == 0) return {};
  if (!cut) return heading(stream) + stream.head + line_end(stream.head);
  const std::string_view rest = stream.tail.empty() ? stream.head : stream.tail;
  const std::string_view head = utf8_prefix(stream.head, bytes_max / 2);
  const std::string_view tail = utf8_suffix(rest, bytes_max / 2);
  return heading(stream) + std::string(head) + line_end(head) + "[cut: the first " +
         std::to_string(head.size()) + " and the last " + std::to_string(tail.size()) + " of " +
         std::to_string(stream.stream_bytes) + " bytes are shown]\n" + std::string(tail) +
         line_end(tail);
}

// Returns the last lines that aren't blank as one line.
std::string last_lines_of(std::string_view text) {
  std::string lines;
  std::size_t count = 0;
  while (!text.empty() && count < last_lines_max && lines.size() < last_lines_bytes_max) {
    const std::size_t line_break = text.rfind('\n');
    const std::size_t begin = line_break == std::string_view::npos ? 0 : line_break + 1;
    const std::string_view line = trimmed(text.substr(begin), " \t\r");
    text = text.substr(0, line_break == std::string_view::npos ? 0 : line_break);
    if (line.empty()) continue;
    lines = std::string(line) + (lines.empty() ? "" : "; ") + lines;
    ++count;
  }
  if (lines.size() <= last_lines_bytes_max) return lines;
  return "…" + std::string(utf8_suffix(lines, last_lines_bytes_max));
}

}  // namespace

std::string last_lines(const KeptLog& stdout_log, const KeptLog& stderr_log) {
  for (const KeptLog* log : {&stderr_log, &stdout_log}) {
    std::string lines = last_lines_of(with_replacements(log->tail.empty() ? log->head : log->tail));
    if (!lines.empty()) return lines;
  }
  return {};
}

std::string log_excerpt(const KeptLog& stdout_log, const KeptLog& stderr_log,
                        std::size_t bytes_max) {
  const StreamText out = text_of("stdout", stdout_log);
  const StreamText err = text_of("stderr", stderr_log);
  const std::size_t room = bytes_max - notes_bytes;
  if (stdout_log.whole() && stderr_log.whole() && out.size() + err.size() <= room) {
    return section(out, false, room) + section(err, false, room);
  }
  // Each stream gets half of the room, and the other stream's unused part.
  const auto need = [room](const StreamText& text, const KeptLog& log) {
    return log.whole() ? std::min(text.size(), room) : room;
  };
  const std::size_t out_need = need(out, stdout_log);
  const std::size_t err_need = need(err, stderr_log);
  const std::size_t out_room = std::max(room / 2, room - std::min(err_need, room / 2));
  const std::size_t out_bytes = std::min(out_need, out_room);
  const std::size_t err_bytes = std::min(err_need, room - out_bytes);
  const bool out_cut = !stdout_log.whole() || out.size() > out_bytes;
  const bool err_cut = !stderr_log.whole() || err.size() > err_bytes;
  return "[cut to fit into " + std::to_string(bytes_max) + " bytes; the original is " +
         std::to_string(stdout_log.stream_bytes + stderr_log.stream_bytes) + " bytes]\n" +
         section(out, out_cut, out_bytes) + section(err, err_cut, err_bytes);
}

}  // namespace signalbox
