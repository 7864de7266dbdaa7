// Cursors of lists that go on behind a name or a key: the bytes of it in hexadecimal, so that a
// text that no page has named is refused instead of being taken for a place in the list.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "domain/error.h"

namespace signalbox {

// Returns the `next_cursor` of a page that ends with this key.
std::string cursor_text(std::string_view key);

// Returns the key that a page goes on behind; empty without a cursor. INVALID_PARAMS, with the
// command `list` that shows the first page, if `cursor` can't be from a page.
Decided<std::string> read_cursor(const std::optional<std::string>& cursor, const char* list);

}  // namespace signalbox
