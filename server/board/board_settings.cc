#include "server/board/board_settings.h"

#include "domain/try.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t prune_after_ms_max = 366LL * 24 * 60 * 60 * 1000;

tl::expected<Schedule, std::string> schedule(const char* key, const std::string& text,
                                             const std::string& zone) {
  auto parsed = Schedule::parse(text, zone);
  if (!parsed) return tl::unexpected("board." + std::string(key) + ": " + parsed.error());
  return std::move(*parsed);
}

}  // namespace

std::string* board_text(BoardTexts& texts, std::string_view key) {
  if (key == "heartbeat") return &texts.heartbeat;
  if (key == "synthesizer") return &texts.synthesizer;
  if (key == "prune") return &texts.prune;
  if (key == "prune_after") return &texts.prune_after;
  if (key == "time_zone") return &texts.time_zone;
  return nullptr;
}

tl::expected<BoardSettings, std::string> read_board_settings(const BoardTexts& texts) {
  auto heartbeat = TRY(schedule("heartbeat", texts.heartbeat, texts.time_zone));
  auto synthesizer = TRY(schedule("synthesizer", texts.synthesizer, texts.time_zone));
  auto prune = TRY(schedule("prune", texts.prune, texts.time_zone));
  const auto after_ms = parse_duration_ms(texts.prune_after);
  if (!after_ms || *after_ms < 0 || *after_ms > prune_after_ms_max) {
    return tl::unexpected("board.prune_after must be a duration up to 366 days, such as 1h; not " +
                          texts.prune_after);
  }
  return BoardSettings{std::move(heartbeat), std::move(synthesizer), std::move(prune), *after_ms};
}

}  // namespace signalbox
