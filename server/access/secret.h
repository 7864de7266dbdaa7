// The secret of an access token: how it is made, and the digest that is stored instead of it.
#pragma once

#include <string>
#include <string_view>

#include "domain/ids.h"
#include "store/random_source.h"

namespace signalbox {

// Returns "sbx_" and 256 random bits in hexadecimal. The prefix lets secret scanners find leaks.
std::string make_secret(const RandomSource& random);

// Returns the SHA-256 of a secret. domain/access_events.h says why no slower hash is needed.
Digest digest_of_secret(std::string_view secret);

}  // namespace signalbox
