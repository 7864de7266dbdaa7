// Amounts of money, for people.
#pragma once

#include <cstdint>
#include <string>

namespace signalbox {

// Returns an amount of millionths of a dollar in dollars: "12.34"; below a dollar "0.187", and
// below a cent with all its digits, "0.0015", since a budget may be as small as a millionth. What
// is beyond is left out, so that no amount looks larger than it is.
std::string dollars_text(std::uint64_t microusd);

}  // namespace signalbox
