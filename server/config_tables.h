// The tables of the configuration file. The errors are sentences that name the setting, with file
// and line.
#pragma once

#include <filesystem>
#include <string>

#include <toml++/toml.h>
#include <tl/expected.hpp>

#include "server/config.h"

namespace signalbox {

// Returns the message with the place of `node` before it.
std::string at_line(const std::filesystem::path& file, const toml::node& node,
                    const std::string& message);

tl::expected<void, std::string> read_board(const std::filesystem::path& file,
                                           const toml::node& node, Config& config);
tl::expected<void, std::string> read_cell(const std::filesystem::path& file, const toml::node& node,
                                          Config& config);
// load_config() validates the texts as a whole later: the endpoint may still come from a flag.
tl::expected<void, std::string> read_traces(const std::filesystem::path& file,
                                            const toml::node& node, TraceTexts& texts);
tl::expected<void, std::string> read_artifacts(const std::filesystem::path& file,
                                               const toml::node& node, Config& config);
// Validates at once: of the other settings this table needs only the data directory, which is
// known.
tl::expected<void, std::string> read_retention(const std::filesystem::path& file,
                                               const toml::node& node, Config& config);

// Returns an error, which names no line, if `config` has a cell and a setting that can't be had
// with one.
tl::expected<void, std::string> require_fit_for_cell(const Config& config);

}  // namespace signalbox
