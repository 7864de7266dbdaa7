// The end of a process that gets no memory or no thread: a message and exit code 75 (try again)
// where the runtime would abort without saying why.
#pragma once

#include <exception>
#include <string>

namespace signalbox {

// Ends the process that way for each such exception that nothing catches, on any thread. Others
// abort as before, after a message. Call it before the first thread.
void report_resource_shortage();

// Returns what is missing and what to do about it; "" if the exception is no such shortage.
// `exception` may be nullptr.
const char* resource_shortage_text(const std::exception_ptr& exception) noexcept;

}  // namespace signalbox
