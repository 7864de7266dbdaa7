#include "server/git/tree_entry.h"

#include "server/git/git_names.h"
#include "server/text/separated_text.h"

namespace signalbox {

TreeEntry parse_tree_entry(std::string_view line) {
  std::string_view fields = take_until(line, '\t');
  const std::string_view mode = take_until(fields, ' ');
  const std::string_view kind = take_until(fields, ' ');
  const std::string_view object = take_until(fields, ' ');
  const auto bytes = whole_number<std::size_t>(fields.substr(fields.rfind(' ') + 1));
  const bool is_file = (mode == "100644" || mode == "100755") && kind == "blob";
  if (!is_file || !is_object_id(object) || !bytes) return {};
  return {true, std::string(object), *bytes};
}

}  // namespace signalbox
