// The TRY macro, which returns an error to the caller, like `?` in Rust.
#pragma once

#include <type_traits>
#include <utility>

#include <tl/expected.hpp>

namespace signalbox {

// Returns the value that `tried` holds, moved out of a temporary; void for a tl::expected<void>.
template <class Expected>
auto value_of_tried(Expected&& tried) {
  using Value = typename std::remove_cvref_t<Expected>::value_type;
  if constexpr (!std::is_void_v<Value>) return *std::forward<Expected>(tried);
}

}  // namespace signalbox

// Evaluates to the value of an expression of type tl::expected. If it holds an error, the enclosing
// function returns that error; its own error type must be constructible from it.
//
//   const Record record = TRY(read_record(position));
//   TRY(sync());
//
// A bare TRY drops the value: name what must live on, such as a lock.
//
// It is a statement expression, an extension of g++ and clang. Don't use it around co_await: g++ 12
// miscompiles that.
#define TRY(...) SIGNALBOX_TRY_COUNTED(__COUNTER__, __VA_ARGS__)
#define SIGNALBOX_TRY_COUNTED(count, ...) SIGNALBOX_TRY_NUMBERED(count, __VA_ARGS__)
#define SIGNALBOX_TRY_NUMBERED(count, ...) SIGNALBOX_TRY_NAMED(tried_##count, __VA_ARGS__)
#define SIGNALBOX_TRY_NAMED(tried, ...)                                              \
  ({                                                                                 \
    auto&& tried = (__VA_ARGS__);                                                    \
    if (!tried) return tl::unexpected(std::forward<decltype(tried)>(tried).error()); \
    ::signalbox::value_of_tried(std::forward<decltype(tried)>(tried));               \
  })
