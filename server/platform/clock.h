// The only source of time and of random identifiers, so that a simulation can replace both.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

#include "domain/ids.h"

namespace signalbox {

class Clock {
 public:
  virtual ~Clock() = default;
  // Returns UTC time in nanoseconds since the Unix epoch, for people and for records. It can jump.
  [[nodiscard]] virtual std::int64_t wall_ns() const = 0;
  // Returns nanoseconds on CLOCK_BOOTTIME, which never jumps and continues while the machine
  // sleeps. For leases and timeouts.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t wall_ns() const override;
  [[nodiscard]] std::int64_t monotonic_ns() const override;
};

// A clock that always returns one moment, for answering queries about the past.
class FixedClock final : public Clock {
 public:
  // `wall_ns` is in UTC; the monotonic time is always 0.
  explicit FixedClock(std::int64_t wall_ns) : wall_ns_(wall_ns) {}
  [[nodiscard]] std::int64_t wall_ns() const override { return wall_ns_; }
  [[nodiscard]] std::int64_t monotonic_ns() const override { return 0; }

 private:
  const std::int64_t wall_ns_;
};

// Returns why nothing can be recorded at this wall clock time, and what to do; nullopt for a time
// that may be right. RocksDB aborts at a time before 1970, and 64-bit nanoseconds end in 2262.
std::optional<std::string> clock_problem(std::int64_t wall_ns);

class IdSource {
 public:
  virtual ~IdSource() = default;
  // Returns a UUID of version 7 (RFC 9562): its first 48 bits are `wall_ns` in milliseconds.
  virtual Uuid next_run_id(std::int64_t wall_ns) = 0;
  // Returns a UUID of version 4 (RFC 9562).
  virtual Uuid next_span_id() = 0;
};

// Draws from OpenSSL's random generator (RAND_bytes), in blocks. Not thread-safe.
class RandomIdSource final : public IdSource {
 public:
  Uuid next_run_id(std::int64_t wall_ns) override;
  Uuid next_span_id() override;

 private:
  Uuid draw();

  std::array<std::uint8_t, 4096> block_{};
  std::size_t used_ = 4096;
};

}  // namespace signalbox
