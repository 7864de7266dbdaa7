#include "tools/views/money_text.h"

#include <cstddef>

namespace signalbox {
namespace {

constexpr std::uint64_t microusd_per_dollar = 1'000'000;
constexpr std::uint64_t microusd_per_cent = 10'000;
constexpr std::size_t decimals_max = 6;
constexpr std::size_t decimals_min = 2;

std::size_t decimals_of(std::uint64_t microusd) {
  if (microusd >= microusd_per_dollar) return decimals_min;
  return microusd >= microusd_per_cent ? decimals_min + 1 : decimals_max;
}

}  // namespace

std::string dollars_text(std::uint64_t microusd) {
  std::string decimals = std::to_string(microusd % microusd_per_dollar);
  decimals.insert(0, decimals_max - decimals.size(), '0');
  decimals.resize(decimals_of(microusd));
  while (decimals.size() > decimals_min && decimals.back() == '0') decimals.pop_back();
  return std::to_string(microusd / microusd_per_dollar) + "." + decimals;
}

}  // namespace signalbox
