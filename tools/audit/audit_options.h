// What the commands of `signalbox audit` share of their command lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/call_error.h"

namespace CLI {
class App;
}

namespace signalbox {

struct Invocation;

// --signing-key, again for more.
void add_signing_keys(CLI::App& command, std::vector<std::string>& files);
// --key, again for more; required.
void add_trusted_keys(CLI::App& command, std::vector<std::string>& words);

// Replaces `file` as a whole.
Called<void> write_output(const std::string& file, std::string_view bytes);

// `audit export`, `verify`, `retain` and `redact`; in files of their own.
void add_audit_export_command(CLI::App& audit, Invocation& invocation);
void add_audit_verify_command(CLI::App& audit, Invocation& invocation);
void add_audit_retain_command(CLI::App& audit, Invocation& invocation);
void add_audit_redact_command(CLI::App& audit, Invocation& invocation);

}  // namespace signalbox
