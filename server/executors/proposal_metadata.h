// Fields of the metadata of create_pr's results that others read. Those about changed checks are in
// check_files.h.
#pragma once

namespace signalbox {

// Sentences about what it left out and where that is, as in its summary.
inline constexpr const char* left_out_field = "left_out";

}  // namespace signalbox
