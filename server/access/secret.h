// The secret of an access token: how it looks, and what is kept of it.
#pragma once

#include <string>
#include <string_view>

#include "domain/ids.h"
#include "store/random_source.h"

namespace signalbox {

// "sbx_" and 256 random bits in hexadecimal. The prefix is for those who look for leaked secrets.
std::string make_secret(const RandomSource& random);

// Its SHA-256. Why that is enough: domain/access_events.h.
Digest digest_of_secret(std::string_view secret);

}  // namespace signalbox
