#include "server/cell/cell_settings.h"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <utility>

#include "server/text/time_text.h"

namespace signalbox {
namespace {

constexpr std::size_t name_bytes_max = 64;
constexpr std::int64_t keep_ms_min = 1000;
constexpr std::int64_t keep_ms_max = 36'600 * CellSettings::ms_per_day;

using DurabilityName = std::pair<std::string_view, PostgresLog::Durability>;
constexpr std::array<DurabilityName, 3> durabilities = {
    DurabilityName{"quorum", PostgresLog::Durability::quorum},
    DurabilityName{"degraded-ok", PostgresLog::Durability::degraded_ok},
    DurabilityName{"attested", PostgresLog::Durability::attested}};

bool is_name(std::string_view text) {
  if (text.empty() || text.size() > name_bytes_max) return false;
  return text.find_first_not_of(
             "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-") ==
         std::string_view::npos;
}

std::string own_host_name() {
  std::array<char, 256> name{};
  if (gethostname(name.data(), name.size() - 1) != 0) return {};
  return name.data();
}

}  // namespace

std::string* cell_text(CellTexts& texts, std::string_view key) {
  if (key == "name") return &texts.name;
  if (key == "engine") return &texts.engine;
  if (key == "server") return &texts.server;
  if (key == "address") return &texts.address;
  if (key == "durability") return &texts.durability;
  if (key == "keep") return &texts.keep;
  if (key == "keep_absent") return &texts.keep_absent;
  return nullptr;
}

tl::expected<CellSettings, std::string> read_cell_settings(const CellTexts& texts) {
  CellSettings settings;
  settings.name = texts.name;
  settings.engine = texts.engine;
  settings.server = {texts.server.empty() ? own_host_name() : texts.server, texts.address};
  if (!is_name(settings.name)) {
    return tl::unexpected(
        "cell.name must be 1 to 64 letters, digits, dots, hyphens and underscores, the same for "
        "all servers of the cell; not \"" +
        settings.name + "\"");
  }
  if (!settings.engine.starts_with("postgresql://") &&
      !settings.engine.starts_with("postgres://")) {
    // The text may have a password.
    return tl::unexpected(
        std::string("cell.engine must be the URL of a PostgreSQL database, such as "
                    "postgresql://signalbox@db1,db2,db3/signalbox"));
  }
  if (!is_name(settings.server.name)) {
    return tl::unexpected(
        "cell.server must be 1 to 64 letters, digits, dots, hyphens and underscores, another for "
        "each server of the cell; not \"" +
        settings.server.name + "\"");
  }
  const std::string& address = settings.server.address;
  const bool is_tcp = address.starts_with("tcp://");
  if ((!is_tcp && !address.starts_with("tls://")) || address.find(',') != std::string::npos ||
      address.find(':', 6) == std::string::npos) {
    return tl::unexpected(
        "cell.address must be where clients reach this server, such as tls://a.example.org:7443; "
        "not \"" +
        address + "\"");
  }
  const auto place = std::ranges::find(durabilities, texts.durability, &DurabilityName::first);
  if (place == durabilities.end()) {
    return tl::unexpected("cell.durability is quorum, degraded-ok or attested; not \"" +
                          texts.durability + "\"");
  }
  settings.durability = place->second;
  const auto keep_ms = parse_duration_ms(texts.keep);
  if (!keep_ms || *keep_ms < keep_ms_min || *keep_ms > keep_ms_max) {
    return tl::unexpected("cell.keep must be a time from 1s to 36600d, such as 3d; not \"" +
                          texts.keep + "\"");
  }
  const auto absent_ms = parse_duration_ms(texts.keep_absent);
  if (!absent_ms || *absent_ms < *keep_ms || *absent_ms > keep_ms_max) {
    return tl::unexpected(
        "cell.keep_absent must be a time from cell.keep to 36600d, such as 7d; "
        "not \"" +
        texts.keep_absent + "\"");
  }
  settings.keep_ms = *keep_ms;
  settings.keep_absent_ms = *absent_ms;
  return settings;
}

std::unique_ptr<SharedLog> open_shared_log(const CellSettings& settings, std::int64_t call_ms) {
  PostgresLog::Options options;
  options.url = settings.engine;
  options.cell = settings.name;
  options.deadline = std::chrono::milliseconds(call_ms);
  options.durability = settings.durability;
  return std::make_unique<PostgresLog>(std::move(options));
}

}  // namespace signalbox
