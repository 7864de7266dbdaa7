#include "tools/audit/audit_findings.h"

#include <boost/json/array.hpp>
#include <boost/json/object.hpp>

namespace signalbox {
namespace {

constexpr int tampered_number = -32095;  // a client error; the others are in call_error.cc

std::string finding_text(const Finding& finding) {
  std::string text = finding.file;
  if (finding.line != 0) text += ", line " + std::to_string(finding.line);
  if (finding.position != 0) text += ", position " + std::to_string(finding.position);
  return text + ": " + finding.what;
}

}  // namespace

CallError AuditFindings::error() const {
  boost::json::array findings;
  std::string message = "not what was signed: ";
  for (const Finding& each : kept_) {
    boost::json::object object{{"file", each.file}, {"what", each.what}};
    if (each.line != 0) object["line"] = each.line;
    if (each.position != 0) object["position"] = each.position;
    findings.push_back(std::move(object));
  }
  for (std::size_t index = 0; index < kept_.size() && index < 8; ++index) {
    message += (index == 0 ? "" : "\n  ") + finding_text(kept_[index]);
  }
  if (total_ > 8) message += "\n  and " + std::to_string(total_ - 8) + " more";
  CallError error;
  error.exit_code = ExitCode::refused;
  error.error["code"] = tampered_number;
  error.error["message"] = std::move(message);
  error.error["data"] = boost::json::object{
      {"code", "TAMPERED"},
      {"details",
       boost::json::object{{"findings", std::move(findings)}, {"findings_total", total_}}},
      {"next_commands", boost::json::array()}};
  return error;
}

CallError tampered(const std::string& file, Position position, const std::string& what) {
  AuditFindings findings;
  findings.add({file, 0, position, what});
  return findings.error();
}

}  // namespace signalbox
