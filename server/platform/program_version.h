// Tells builds apart: servers of a cell, runners and clients may each be of another one.
#pragma once

#include <string>

namespace signalbox {

// Returns the version of this program: that of the project and, of sources in a git repository, the
// commit that they were built from, as `0.1.0+738225ad1f0e`, with `.modified` if they weren't as it
// has them. The form is that of Semantic Versioning 2.0, where what follows `+` orders nothing.
const std::string& program_version();

}  // namespace signalbox
