// The table of files that decide about checks, or about what agents may do, by their names. Apart
// from check_files.h, which says which of them a change touches; documented in tools/GUIDE.md.
#pragma once

#include <string_view>

namespace signalbox {

// Returns whether the file at `path`, relative to the top, decides in every repository:
// instructions, policy, the settings of agents, of git and of its hooks, and the configuration of
// CI.
bool decides_everywhere(std::string_view path);

// Returns whether the table has the program.
bool is_known_program(std::string_view program);
// Returns whether the program does what the file at `path` says: `make` and a Makefile. With an
// empty `program`, whether any program does.
bool is_file_of_program(std::string_view program, std::string_view path);

// Returns whether the program is a shell.
bool is_shell(std::string_view program);
// Returns whether the program runs the files of a directory that it is given, such as `run-parts`
// and `pytest`, or a shell that loops over them.
bool runs_directories(std::string_view program);
// Returns whether the program runs the file that it is given, whatever its name.
bool runs_files(std::string_view program);

// Returns whether a file of this name may be run: it has no extension, or that of a script.
bool has_name_of_script(std::string_view path);
// Returns whether it may be a shell's: it has no extension, or that of a shell's script.
bool has_name_of_shell_script(std::string_view path);
// Returns whether a file of this name is text, a picture or data, which nothing runs by itself.
bool has_name_of_data(std::string_view path);

}  // namespace signalbox
