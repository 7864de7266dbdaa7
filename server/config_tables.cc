#include "server/config_tables.h"

#include <functional>
#include <string_view>

#include "domain/try.h"

namespace signalbox {
namespace {

// Returns the message about a table with the place of the key that it begins with before it
// ("board.heartbeat: …"), or with that of the table if the key isn't there.
std::string at_key(const std::filesystem::path& file, const toml::node& table,
                   const std::string& message) {
  const std::size_t dot = message.find('.');
  if (dot == std::string::npos || table.as_table() == nullptr) return at_line(file, table, message);
  const std::string key = message.substr(dot + 1, message.find_first_of(": ", dot) - dot - 1);
  const toml::node* const named = table.as_table()->get(key);
  return at_line(file, named == nullptr ? table : *named, message);
}

// `text_of` returns where the value of a key goes, or nullptr, and whether it is a path.
tl::expected<void, std::string> read_texts(
    const std::filesystem::path& file, const toml::node& node, const std::string& table_name,
    const std::string& names,
    const std::function<std::string*(std::string_view key, bool& is_path)>& text_of) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return tl::unexpected(at_line(file, node, table_name + " must be a table"));
  for (const auto& [key, value] : *table) {
    bool is_path = false;
    std::string* out = text_of(key.str(), is_path);
    const auto text = value.value_exact<std::string>();
    const std::string setting = table_name + "." + std::string(key.str());
    if (out == nullptr) {
      return tl::unexpected(
          at_line(file, value, "there is no setting " + setting + "; there are " + names));
    }
    if (!text) return tl::unexpected(at_line(file, value, setting + " must be a string"));
    *out = is_path ? (std::filesystem::absolute(file).parent_path() / *text).string() : *text;
  }
  return {};
}

}  // namespace

std::string at_line(const std::filesystem::path& file, const toml::node& node,
                    const std::string& message) {
  return file.string() + ":" + std::to_string(node.source().begin.line) + ": " + message;
}

tl::expected<void, std::string> read_board(const std::filesystem::path& file,
                                           const toml::node& node, Config& config) {
  TRY(read_texts(file, node, "board", "heartbeat, synthesizer, prune, prune_after, time_zone",
                 [&](std::string_view key, bool&) { return board_text(config.board, key); }));
  const auto read = read_board_settings(config.board);
  if (!read) return tl::unexpected(at_key(file, node, read.error()));
  return {};
}

tl::expected<void, std::string> read_traces(const std::filesystem::path& file,
                                            const toml::node& node, TraceTexts& texts) {
  return read_texts(
      file, node, "traces", "endpoint, headers_file, certificate_authority, service_name, backfill",
      [&](std::string_view key, bool& is_path) { return trace_text(texts, key, is_path); });
}

tl::expected<void, std::string> read_artifacts(const std::filesystem::path& file,
                                               const toml::node& node, Config& config) {
  ArtifactTexts& texts = config.artifact_texts;
  TRY(read_texts(
      file, node, "artifacts",
      "store, endpoint, runner_endpoint, region, credentials, certificate_authority",
      [&](std::string_view key, bool& is_path) { return artifact_text(texts, key, is_path); }));
  auto read = read_artifact_settings(texts);
  if (!read) return tl::unexpected(at_key(file, node, read.error()));
  config.artifacts = *std::move(read);
  return {};
}

tl::expected<void, std::string> read_retention(const std::filesystem::path& file,
                                               const toml::node& node, Config& config) {
  const toml::table* table = node.as_table();
  if (table == nullptr) return tl::unexpected(at_line(file, node, "retention must be a table"));
  RetentionTexts texts;
  FileRetentionTexts files;
  bool keeps_records = true;  // nothing else than files is to go
  for (const auto& [key, value] : *table) {
    bool is_path = false;
    std::string* out = file_retention_text(files, key.str());
    if (out == nullptr) {
      out = retention_text(texts, key.str(), is_path);
      keeps_records = keeps_records && key.str() == "time_zone";
    }
    const auto text = value.value_exact<std::string>();
    if (out == nullptr) {
      return tl::unexpected(
          at_line(file, value,
                  "there is no setting retention." + std::string(key.str()) +
                      "; there are older_than, failed_runs, archive, key, schedule, time_zone, "
                      "files_older_than, files_failed_runs, files_branches, files_schedule"));
    }
    if (!text || text->empty()) {
      return tl::unexpected(
          at_line(file, value, "retention." + std::string(key.str()) + " must be a string"));
    }
    *out = is_path ? (std::filesystem::absolute(file).parent_path() / *text).string() : *text;
  }
  if (!files.files_older_than.empty() || !files.files_branches.empty()) {
    auto read_files = read_file_retention_settings(files, texts.time_zone);
    if (!read_files) return tl::unexpected(at_key(file, node, read_files.error()));
    config.file_retention = std::move(*read_files);
    if (keeps_records) return {};
  }
  auto read = read_retention_settings(texts, config.data);
  if (!read) return tl::unexpected(at_key(file, node, read.error()));
  config.retention = std::move(*read);
  return {};
}

tl::expected<void, std::string> read_cell(const std::filesystem::path& file, const toml::node& node,
                                          Config& config) {
  CellTexts texts;
  TRY(read_texts(file, node, "cell", "name, engine, server, address, durability, keep, keep_absent",
                 [&](std::string_view key, bool&) { return cell_text(texts, key); }));
  auto read = read_cell_settings(texts);
  if (!read) return tl::unexpected(at_key(file, node, read.error()));
  config.cell = *std::move(read);
  return {};
}

tl::expected<void, std::string> require_fit_for_cell(const Config& config) {
  if (!config.cell) return {};
  if (config.listen.empty()) {
    return tl::unexpected(
        std::string("a server of a cell needs `listen`: the address at which clients and runners "
                    "find it when it takes commands (cell.address)"));
  }
  return {};
}

}  // namespace signalbox
