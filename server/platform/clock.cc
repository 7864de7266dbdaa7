#include "server/platform/clock.h"

#include <ctime>

#include <openssl/rand.h>

#include "domain/check.h"
#include "domain/nanoseconds.h"
#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::int64_t wall_ns_min = 946'684'800 * ns_per_s;    // 2000-01-01
constexpr std::int64_t wall_ns_max = 7'258'118'400 * ns_per_s;  // 2200-01-01

std::int64_t read_clock(clockid_t id) {
  timespec now{};
  SIGNALBOX_CHECK(clock_gettime(id, &now) == 0);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

void set_version(Uuid& uuid, std::uint8_t version) {
  uuid.bytes[6] = static_cast<std::uint8_t>((uuid.bytes[6] & 0x0FU) | (version << 4U));
  uuid.bytes[8] = static_cast<std::uint8_t>((uuid.bytes[8] & 0x3FU) | 0x80U);
}

}  // namespace

std::int64_t SystemClock::wall_ns() const { return read_clock(CLOCK_REALTIME); }
std::int64_t SystemClock::monotonic_ns() const { return read_clock(CLOCK_BOOTTIME); }

std::optional<std::string> clock_problem(std::int64_t wall_ns) {
  if (wall_ns >= wall_ns_min && wall_ns < wall_ns_max) return std::nullopt;
  return "the clock of this machine says " + format_time(wall_ns) +
         ", which can't be: set it (timedatectl set-ntp true), then start again";
}

Uuid RandomIdSource::draw() {
  Uuid uuid;
  if (used_ + uuid.bytes.size() > block_.size()) {
    SIGNALBOX_CHECK(RAND_bytes(block_.data(), static_cast<int>(block_.size())) == 1);
    used_ = 0;
  }
  std::memcpy(uuid.bytes.data(), block_.data() + used_, uuid.bytes.size());
  used_ += uuid.bytes.size();
  return uuid;
}

Uuid RandomIdSource::next_run_id(std::int64_t wall_ns) {
  Uuid uuid = draw();
  const auto ms = static_cast<std::uint64_t>(wall_ns / 1'000'000);
  for (std::size_t index = 0; index < 6; ++index) {
    uuid.bytes[index] = static_cast<std::uint8_t>(ms >> (40 - 8 * index));
  }
  set_version(uuid, 7);
  return uuid;
}

Uuid RandomIdSource::next_span_id() {
  Uuid uuid = draw();
  set_version(uuid, 4);
  return uuid;
}

}  // namespace signalbox
