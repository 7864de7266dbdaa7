#include "server/platform/resource_shortage.h"

#include <sysexits.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <new>
#include <system_error>

namespace signalbox {
namespace {

constexpr const char* no_memory =
    "there is not enough memory: raise the limit (ulimit -v, MemoryMax= of the service), or end "
    "something else, then start again";
constexpr const char* no_threads =
    "the machine gives this user no more threads, or no memory for them: raise the limit (ulimit "
    "-u "
    "and -v, TasksMax= and MemoryMax= of the service), or end something else, then start again";

// Allocates nothing: there may be no memory.
void write_line(const char* begin, const char* text) noexcept {
  for (const char* part : {begin, text, "\n"}) {
    [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, part, std::strlen(part));
  }
}

[[noreturn]] void on_terminate() noexcept {
  const std::exception_ptr exception = std::current_exception();
  const char* shortage = resource_shortage_text(exception);
  // An object that has started some of its threads, and not the next one, is destroyed with them:
  // the exception on its way can't be looked at then, and nothing else throws at such a place.
  if (!exception && std::uncaught_exceptions() > 0) shortage = no_threads;
  if (*shortage != '\0') {
    write_line("signalbox: ", shortage);
    std::_Exit(EX_TEMPFAIL);
  }
  try {
    if (exception) std::rethrow_exception(exception);
    write_line("signalbox: ", "terminated without an exception");
  } catch (const std::exception& failure) {
    write_line("signalbox: an exception that nothing catches: ", failure.what());
  } catch (...) {
    write_line("signalbox: ", "an unknown exception that nothing catches");
  }
  std::abort();
}

}  // namespace

const char* resource_shortage_text(const std::exception_ptr& exception) noexcept {
  if (!exception) return "";
  try {
    std::rethrow_exception(exception);
  } catch (const std::bad_alloc&) {
    return no_memory;
  } catch (const std::system_error& failure) {
    if (failure.code() == std::errc::not_enough_memory) {
      return no_memory;
    }
    if (failure.code() != std::errc::resource_unavailable_try_again) return "";
    return no_threads;
  } catch (...) {
    return "";
  }
}

void report_resource_shortage() { std::set_terminate(on_terminate); }

}  // namespace signalbox
