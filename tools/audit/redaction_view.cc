#include "tools/audit/redaction_view.h"

#include <boost/json/array.hpp>

#include "server/text/printable_text.h"
#include "tools/cli/json_fields.h"

namespace signalbox {
namespace {

namespace json = boost::json;

std::string view_place(const json::object& place, const ConnectionOptions& typed) {
  std::string text = "  ";
  if (place.contains("file")) {
    text += text_at(place, "file");
    if (place.contains("position")) text += ": record " + text_at(place, "position");
    if (place.contains("stays")) text += ": " + text_at(place, "stays");
  } else {
    text += "position " + text_at(place, "position");
    const std::string fields = comma_separated(array_at(place, "fields"));
    text += fields.empty() ? ": in what can't be erased" : ": " + fields;
  }
  text += "\n";
  for (const json::value& each : array_at(place, "commands")) {
    text += "    try: " + with_connection(scalar_text(each), typed) + "\n";
  }
  return text;
}

std::string view_remaining(const json::object& result, const ConnectionOptions& typed) {
  std::string text;
  if (!true_at(result, "searched")) {
    text += "What was erased is too short to be searched for.\n";
  } else if (text_at(result, "remaining_total") == "0") {
    text +=
        "Nothing of it (whole lines, and words of 16 bytes and more) was found anywhere else in "
        "the data directory.\n";
  } else {
    text +=
        "Of what was erased, something (a whole line, or a word of 16 bytes or more) is still at "
        "places; there are " +
        text_at(result, "remaining_total") + ":\n";
    for (const json::value& each : array_at(result, "remaining")) {
      text += view_place(each.get_object(), typed);
    }
  }
  return text + "Note that " + text_at(result, "elsewhere") + ".\n";
}

std::string view_archives(const json::object& result, const ConnectionOptions& typed) {
  std::string text;
  for (const json::value& each : array_at(result, "archives")) {
    const json::object& place = each.get_object();
    text += "The archive " + text_at(place, "archive") + " has the record, too.\n";
    for (const json::value& command : array_at(place, "commands")) {
      text += "    try: " + with_connection(scalar_text(command), typed) + "\n";
    }
  }
  return text;
}

std::string view_files_error(const json::object& result) {
  if (!result.contains("files_error")) return "";
  return "Files may have it until this command is repeated, or the server's next start: " +
         text_at(result, "files_error") + "\n";
}

}  // namespace

std::string view_archive_redaction(const json::object& result, const Terminal& terminal) {
  const std::string fields = comma_separated(array_at(result, "fields"));
  const std::string record =
      "record " + text_at(result, "position") + ", " + text_at(result, "type");
  if (fields.empty()) return record + ": nothing is left to erase there\n";
  if (true_at(result, "dry_run")) return record + ": would erase " + fields + " there\n";
  return record + ": erased " + fields + " from " + text_at(result, "archive") +
         "; its manifest is signed anew\n" + view_remaining(result, terminal.connection);
}

std::string view_redaction(const json::object& result, const Terminal& terminal) {
  const std::string fields = comma_separated(array_at(result, "fields"));
  const std::string record =
      "record " + text_at(result, "position") + ", " + text_at(result, "type");
  if (fields.empty()) {
    return record + ": nothing is left to erase" +
           (text_at(result, "redaction_position") == "0" || !result.contains("redaction_position")
                ? ""
                : "; it was redacted at position " + text_at(result, "redaction_position")) +
           "\n" + view_files_error(result) + view_archives(result, terminal.connection);
  }
  if (true_at(result, "dry_run")) {
    return record + ": would erase " + fields +
           "\nThe log folds without it. Nothing was changed.\n" +
           view_archives(result, terminal.connection);
  }
  std::string text = record + ": erased " + fields + "; the log says so at position " +
                     text_at(result, "redaction_position") + "\n";
  text += view_files_error(result);
  std::string servers;
  for (const json::value& each : array_at(result, "unerased_servers")) {
    servers += (servers.empty() ? "" : ", ") + printable(std::string(each.as_string()));
  }
  if (!servers.empty()) {
    text += "These servers of the cell have it yet, and erase it once they are there: " + servers +
            "\n";
  }
  if (result.contains("shared_log_error")) {
    text += "The cell may have it yet elsewhere, and the server goes on with that: " +
            text_at(result, "shared_log_error") + "\n";
  }
  return text + view_archives(result, terminal.connection) +
         view_remaining(result, terminal.connection);
}

}  // namespace signalbox
