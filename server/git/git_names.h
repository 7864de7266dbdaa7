// What may be handed to git as a commit or as the name of a branch. Names come from files and
// requests that others write, and a name that begins with a dash would be an option.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

// Returns whether `text` is a whole object id: 40 (SHA-1) or 64 (SHA-256) lower-case hexadecimal
// digits.
bool is_object_id(std::string_view text);

// Returns whether `name` can be a branch: "refs/heads/" + `name` satisfies the rules of
// git-check-ref-format(1), and `name` doesn't begin with a dash.
bool is_branch_name(std::string_view name);

// Returns the arguments with which git prints the id of the commit that `name` leads to. If there
// is none, git fails without a message.
std::vector<std::string> commit_query(const std::string& name);

// Returns the commit of the ref in the output of `git ls-remote`, lines of "<commit>\t<ref>": git
// lists every ref that ends like the one that was asked for. Empty if it isn't there.
std::string listed_commit(std::string_view lines, const std::string& ref);

}  // namespace signalbox
