// The commands that a file runs when a check runs it: the recipes of a Makefile, the scripts of a
// package.json, the lines of a shell script. Read as far as names are known without running it.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace signalbox {

// Returns whether a file of this name may be one of them.
bool may_have_commands(std::string_view path);

// Returns the commands, each a text for a shell. Of a Makefile those of the targets among the
// `named` words, or of its first target if none is; what a target needs is a command of words, and
// a file that it includes is one that a shell reads. Of a package.json the scripts among them, with
// what runs before and after each. Of any other file its lines, if it may be a script of a shell.
std::vector<std::string> commands_in(std::string_view path, std::string_view text,
                                     const std::set<std::string>& named);

}  // namespace signalbox
