#include "server/git/tree_entry.h"

#include "server/git/git_names.h"
#include "server/text/separated_text.h"

namespace signalbox {

TreeEntry parse_tree_entry(std::string_view line) {
  std::string_view fields = take_until(line, '\t');
  TreeEntry entry;
  entry.path = std::string(take_until(line, '\0'));
  const std::string_view mode = take_until(fields, ' ');
  const std::string_view kind = take_until(fields, ' ');
  const std::string_view object = take_until(fields, ' ');
  if (!is_object_id(object)) return entry;
  const auto bytes = whole_number<std::size_t>(fields.substr(fields.rfind(' ') + 1));
  entry.is_tree = mode == "040000" && kind == "tree";
  entry.is_regular = (mode == "100644" || mode == "100755") && kind == "blob" && bytes;
  if (entry.is_tree || entry.is_regular) entry.object = std::string(object);
  if (entry.is_regular) entry.bytes = *bytes;
  return entry;
}

std::vector<TreeEntry> parse_tree_entries(std::string_view output) {
  std::vector<TreeEntry> entries;
  while (!output.empty()) entries.push_back(parse_tree_entry(take_until(output, '\0')));
  return entries;
}

}  // namespace signalbox
