#!/usr/bin/env bash
# Puts the program of a release into a folder, if its sum is right: provide.sh VERSION FOLDER.
# RTETHER_RELEASES names another place than the releases of the project.
set -euo pipefail

version=$1 folder=$2
place=${RTETHER_RELEASES:-https://github.com/rtether/rtether/releases/download/v$version}
name=rtether-$version-linux-$(uname -m)
mkdir -p "$folder"
curl --fail --silent --show-error --location --output "$folder/rtether" "$place/$name"
curl --fail --silent --show-error --location --output "$folder/SHA256SUMS" "$place/SHA256SUMS"
sum=$(sed -n "s/ \*$name\$//p" "$folder/SHA256SUMS")
if ! echo "$sum *$folder/rtether" | sha256sum --check --quiet --strict -; then
    rm "$folder/rtether"
    echo "$name is not what SHA256SUMS says" >&2
    exit 1
fi
chmod 755 "$folder/rtether"
