// Describes the output: a terminal, with its width and whether it shows colours, or a file or pipe.
// Also the text functions that depend on it: styles, widths in columns, cutting.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "server/text/printable_text.h"
#include "tools/cli/connection_options.h"

namespace signalbox {

struct Terminal {
  bool colours = false;
  std::optional<std::size_t> columns;    // none: not a terminal, so that nothing is cut
  std::optional<std::size_t> rows = {};  // none: not a terminal, or one that doesn't say
  ConnectionOptions connection = {};     // of the commands that are shown, see with_connection()
  // UTC: the moment that what is shown is of; none: the present.
  std::optional<std::int64_t> moment_ns = {};

  // Returns the time from which ages count.
  [[nodiscard]] std::int64_t now_ns() const;
};

// Describes the terminal behind the descriptor. Colours need a terminal, no NO_COLOR (no-color.org)
// and a TERM that isn't "dumb".
Terminal terminal_of(int file_descriptor);

enum class Style { plain, good, bad, busy, faint, strong };

// Returns `text` in the colour of `style` if the terminal shows colours.
std::string styled(const Terminal& terminal, Style style, std::string_view text);

// Returns the style for the status of a run, a station or a card.
Style style_of_status(std::string_view status);

// Returns the columns that printable text takes: two for each wide character, none for a combining
// mark.
std::size_t columns_of(std::string_view text);

// Returns how many bytes of the text, in whole characters, fit into that many columns.
std::size_t bytes_within(std::string_view text, std::size_t columns);

// Breaks the lines of a message that are wider than the terminal, between two words. An indented
// line stays whole: it may have a command, which is to be pasted.
std::string broken_message(std::string_view message, const Terminal& terminal);

// Returns at most `columns` columns of the text; a cut is shown as "…".
std::string cut(std::string_view text, std::size_t columns);

}  // namespace signalbox
