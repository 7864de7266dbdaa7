// Options and output shared by the commands of `signalbox audit`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tools/cli/call_error.h"
#include "tools/cli/command_line.h"

namespace signalbox {

struct Invocation;

// Adds --signing-key, required and repeatable.
void add_signing_keys(ToolCommand command, std::vector<std::string>& files);
// Adds --key, required and repeatable.
void add_trusted_keys(ToolCommand command, std::vector<std::string>& words);

// Replaces `file` atomically.
Called<void> write_output(const std::string& file, std::string_view bytes);

// Add `audit export`, `verify`, `retain` and `redact`, which have their own source files.
void add_audit_export_command(ToolCommand audit, Invocation& invocation);
void add_audit_verify_command(ToolCommand audit, Invocation& invocation);
void add_audit_retain_command(ToolCommand audit, Invocation& invocation);
void add_audit_redact_command(ToolCommand audit, Invocation& invocation);

}  // namespace signalbox
