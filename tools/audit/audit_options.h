// What the commands of `signalbox audit` share of their command lines.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/call_error.h"
#include "tools/cli/command_line.h"

namespace signalbox {

struct Invocation;

// --signing-key, again for more.
void add_signing_keys(ToolCommand command, std::vector<std::string>& files);
// --key, again for more; required.
void add_trusted_keys(ToolCommand command, std::vector<std::string>& words);

// Replaces `file` as a whole.
Called<void> write_output(const std::string& file, std::string_view bytes);

// `audit export`, `verify`, `retain` and `redact`; in files of their own.
void add_audit_export_command(ToolCommand audit, Invocation& invocation);
void add_audit_verify_command(ToolCommand audit, Invocation& invocation);
void add_audit_retain_command(ToolCommand audit, Invocation& invocation);
void add_audit_redact_command(ToolCommand audit, Invocation& invocation);

}  // namespace signalbox
