// A time zone of the system's database (tzdata), as its offsets from UTC over time.
//
// The database's files end in 2037: what a zone's clocks show then is what they show from there on.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace date {
class time_zone;
}

namespace signalbox {

// A time during which a zone's clocks are off UTC by the same amount. In seconds since 1970, UTC.
struct ZonePeriod {
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;     // the first second that isn't part of it
  std::int64_t offset_s = 0;  // local time minus UTC
};

class TimeZone {
 public:
  static constexpr std::string_view utc = "UTC";      // needs no database; "" is the same
  static constexpr std::string_view local = "local";  // $TZ if it is set, else /etc/localtime

  // By its IANA name ("Europe/Berlin"), or one of the above. The error is a sentence.
  static tl::expected<TimeZone, std::string> find(std::string_view name);

  // What "local" stands for is named by what it was when it was looked up.
  [[nodiscard]] const std::string& name() const { return name_; }

  // The period that a second belongs to. Any second from the year -32000 to 32000.
  [[nodiscard]] ZonePeriod period_at(std::int64_t utc_s) const;

  friend bool operator==(const TimeZone&, const TimeZone&) = default;

 private:
  TimeZone(std::string name, const date::time_zone* zone) : name_(std::move(name)), zone_(zone) {}

  std::string name_;
  const date::time_zone* zone_;  // lives as long as the process; null: UTC
};

}  // namespace signalbox
