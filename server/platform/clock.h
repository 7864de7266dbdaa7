// Time and identity come from here and nowhere else, so that a simulation can bring its own.
#pragma once

#include <cstdint>

#include "domain/ids.h"

namespace signalbox {

class Clock {
 public:
  virtual ~Clock() = default;
  // UTC, for people and for records.
  [[nodiscard]] virtual std::int64_t wall_ns() const = 0;
  // Never jumps and goes on while the machine sleeps (CLOCK_BOOTTIME), for leases and timeouts.
  [[nodiscard]] virtual std::int64_t monotonic_ns() const = 0;
};

class SystemClock final : public Clock {
 public:
  [[nodiscard]] std::int64_t wall_ns() const override;
  [[nodiscard]] std::int64_t monotonic_ns() const override;
};

class IdSource {
 public:
  virtual ~IdSource() = default;
  // RFC 9562 version 7: its first 48 bits are `wall_ns` in milliseconds.
  virtual Uuid next_run_id(std::int64_t wall_ns) = 0;
  // RFC 9562 version 4.
  virtual Uuid next_span_id() = 0;
};

// From the kernel's random source, drawn in blocks.
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
