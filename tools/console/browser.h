// Opens an address in the user's browser.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <utility>

namespace signalbox {

// A file that leads a browser to an address. Other users can read a program's arguments, and the
// address has a secret, so the browser gets the path of this file, which only its owner can read.
class BrowserPage {
 public:
  // Writes the file. Returns nullopt if that isn't possible.
  static std::optional<BrowserPage> write(const std::string& address);

  BrowserPage(BrowserPage&& other) noexcept : path_(std::exchange(other.path_, {})) {}
  BrowserPage& operator=(BrowserPage&&) = delete;
  // Removes the file.
  ~BrowserPage();

  // Has the desktop open the file. Returns false if there is no desktop, or no such program.
  [[nodiscard]] bool open() const;

 private:
  explicit BrowserPage(std::filesystem::path path) : path_(std::move(path)) {}

  std::filesystem::path path_;
};

}  // namespace signalbox
