// An optional value on the heap: an empty Boxed takes eight bytes. Copies are deep, so that a
// struct with such a member stays a plain value.
#pragma once

#include <memory>
#include <utility>

namespace signalbox {

template <class T>
class Boxed {
 public:
  Boxed() = default;
  Boxed(const Boxed& other) : place_(other.place_ ? std::make_unique<T>(*other.place_) : nullptr) {}
  Boxed(Boxed&&) noexcept = default;
  Boxed& operator=(const Boxed& other) {
    place_ = other.place_ ? std::make_unique<T>(*other.place_) : nullptr;
    return *this;
  }
  Boxed& operator=(Boxed&&) noexcept = default;
  ~Boxed() = default;

  [[nodiscard]] bool has_value() const { return place_ != nullptr; }
  explicit operator bool() const { return has_value(); }
  // Access the value. The Boxed isn't empty.
  T& operator*() { return *place_; }
  const T& operator*() const { return *place_; }
  T* operator->() { return place_.get(); }
  const T* operator->() const { return place_.get(); }

  // Replaces the value by a default-constructed one and returns it.
  T& emplace() {
    place_ = std::make_unique<T>();
    return *place_;
  }
  void reset() { place_.reset(); }

  friend bool operator==(const Boxed& left, const Boxed& right) {
    if (!left || !right) return left.has_value() == right.has_value();
    return *left == *right;
  }

 private:
  std::unique_ptr<T> place_;
};

}  // namespace signalbox
