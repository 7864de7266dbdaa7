// Verifies that objects are what their ids say. Git does so for what is fetched, but not for most
// of what it reads: whoever can write a repository can replace a file in it by another content.
#pragma once

#include <string>
#include <vector>

#include <tl/expected.hpp>

#include "server/git/pinned_repository.h"

namespace signalbox {

struct ObjectError {
  bool is_forged = false;  // the content isn't that of the id; else git couldn't say
  std::string message;     // git's
};

// Verifies objects of the repository, each given as its id and type, such as "6f2…b1^{tree}".
// Blocks on git.
tl::expected<void, ObjectError> verify_objects(const PinnedRepository& pinned,
                                               const std::vector<std::string>& objects);

}  // namespace signalbox
