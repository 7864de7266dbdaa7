// A variant whose copying, moving, comparing and ending is compiled once, in event.cc, and not in
// each file that holds an event: that was half of the time to build.
#pragma once

namespace signalbox {

template <class Variant>
class OneOf : public Variant {
 public:
  using Alternatives = Variant;

  using Variant::Variant;
  OneOf();
  OneOf(const OneOf& other);
  OneOf(OneOf&& other) noexcept;
  OneOf& operator=(const OneOf& other);
  OneOf& operator=(OneOf&& other) noexcept;
  ~OneOf();

  bool operator==(const OneOf& other) const;
};

}  // namespace signalbox
