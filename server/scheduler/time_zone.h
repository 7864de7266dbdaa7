// Time zones of the system's database (tzdata): a zone's offsets from UTC over time.
//
// The database's files end in 2037; after that a zone keeps its last offset.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include <tl/expected.hpp>

namespace date {
class time_zone;
}

namespace signalbox {

// A period in which a zone has one offset from UTC. Times are seconds since 1970, UTC.
struct ZonePeriod {
  std::int64_t begin_s = 0;
  std::int64_t end_s = 0;     // exclusive
  std::int64_t offset_s = 0;  // local time minus UTC
};

class TimeZone {
 public:
  static constexpr std::string_view utc = "UTC";      // needs no database; "" is the same
  static constexpr std::string_view local = "local";  // $TZ if it is set, else /etc/localtime

  // Finds a zone by its IANA name ("Europe/Berlin") or one of the names above. The error is a
  // sentence. Blocks on the database's files.
  static tl::expected<TimeZone, std::string> find(std::string_view name);

  // Returns the IANA name; for "local", the name of the zone that find() resolved it to.
  [[nodiscard]] const std::string& name() const { return name_; }

  // Returns the period that contains the second `utc_s`, from the year -32000 to 32000.
  [[nodiscard]] ZonePeriod period_at(std::int64_t utc_s) const;

  friend bool operator==(const TimeZone&, const TimeZone&) = default;

 private:
  TimeZone(std::string name, const date::time_zone* zone) : name_(std::move(name)), zone_(zone) {}

  std::string name_;
  const date::time_zone* zone_;  // owned by the process-wide database; nullptr: UTC
};

}  // namespace signalbox
