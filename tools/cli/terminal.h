// What the output goes to: a terminal of some width that shows colours, or a file or pipe.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace signalbox {

struct Terminal {
  bool colours = false;
  std::optional<std::size_t> columns;  // none: not a terminal, nothing is cut
};

// Colours need a terminal, no NO_COLOR (no-color.org) and a TERM that isn't "dumb".
Terminal terminal_of(int file_descriptor);

enum class Style { plain, good, bad, busy, faint, strong };

// `text` in the colour of `style`, where the terminal shows any.
std::string styled(const Terminal& terminal, Style style, std::string_view text);

// The style that a run's, a station's or a card's status is shown in.
Style style_of_status(std::string_view status);

// Text of others made safe for a terminal: line breaks and tabs become spaces, other control
// characters and bad UTF-8 become "?".
std::string printable(std::string_view text);

// Columns that printable text takes: two for each wide character, none for a combining mark.
std::size_t columns_of(std::string_view text);

// How many bytes of the text fit into that many columns.
std::size_t bytes_within(std::string_view text, std::size_t columns);

// At most `columns` columns of it; what was cut shows as "…".
std::string cut(std::string_view text, std::size_t columns);

}  // namespace signalbox
