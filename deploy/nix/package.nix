# deploy/nix/package.nix   kiosk for Nix, from the package for Debian 13 of a release. docs/packaging.md has the steps.
#
# kiosk is built with Swift 6.3. Nixpkgs has 5.10 (NixOS 26.05) or 6.2 (unstable, autumn of 2026), so nothing is compiled here: the programs are those of
# kiosk_VERSION+deb13u1_ARCHITECTURE.deb, and autoPatchelfHook gives them the libraries of Nixpkgs. FFmpeg is to be 7.1 (ffmpeg_7), as in Debian 13; the
# linker refuses any other. No release has been made yet, so deb has no default.
#
# Tried: nix-instantiate --parse; evaluation with functions that only show their arguments; installPhase in bash and patchelf, with the package for Debian 12
# and that Debian's libraries in one folder: kiosk --version runs from there, and no unit names a path outside of the store.
# Not tried: a build with Nixpkgs, NixOS, a box, aarch64.
#
# By the code, readers on NixOS have neither https nor hardware decoders while they are isolated: the paths that they may read (Sources/CSandbox/calls.c) do
# not include /nix/store, where certificates and drivers are.
{
  lib,
  stdenv,
  autoPatchelfHook,
  dpkg,
  alsa-lib,
  cairo,
  coreutils,
  curl,
  ffmpeg_7-headless,
  fontconfig,
  glib,
  harfbuzz,
  libass,
  libdrm,
  libevdev,
  libva,
  pango,
  qrencode,
  systemdLibs,
  util-linux,
  # The package, a file: fetchurl { url = …; hash = …; } or a path
  deb,
  version ? "0.1.0",
}:

stdenv.mkDerivation {
  pname = "kiosk";
  inherit version;
  src = deb;

  nativeBuildInputs = [
    autoPatchelfHook
    dpkg
  ];
  buildInputs = [
    alsa-lib
    cairo
    ffmpeg_7-headless
    glib
    harfbuzz
    libdrm
    libevdev
    libva
    pango
    stdenv.cc.cc.lib
    systemdLibs
  ];
  # Loaded by name when they are needed
  runtimeDependencies = map lib.getLib [
    curl
    ffmpeg_7-headless
    fontconfig
    libass
    qrencode
  ];

  # kiosk.conf may be read by root only, and nobody is root here
  unpackPhase = ''
    runHook preUnpack
    mkdir source
    dpkg-deb --fsys-tarfile "$src" | tar --extract --no-same-owner --no-same-permissions --directory source
    cd source
    runHook postUnpack
  '';

  installPhase = ''
    runHook preInstall
    mkdir -p "$out/share/zsh/site-functions"
    cp -r usr/. "$out"
    install -m 644 etc/kiosk/kiosk.conf "$out/share/kiosk/kiosk.conf"
    sed -i "s|/usr/share/kiosk/|$out/share/kiosk/|g" "$out/share/kiosk/kiosk.conf"
    mv "$out/share/zsh/vendor-completions/_kiosk" "$out/share/zsh/site-functions/"
    rm -r "$out/share/zsh/vendor-completions" "$out/share/lintian"

    # The service may run programs and libraries of the store, and nothing else
    cd "$out/lib/systemd/system"
    sed -i "
      s|^ExecPaths=-.*|ExecPaths=${builtins.storeDir}|
      /^ExecPaths=\/usr/d
      s|/usr/bin/kiosk |$out/bin/kiosk |
      s|/bin/kill |${coreutils}/bin/kill |
      s|/bin/mkdir |${coreutils}/bin/mkdir |
      s|/bin/rmdir |${coreutils}/bin/rmdir |
      s|/bin/mount |${lib.getBin util-linux}/bin/mount |
      s|/bin/umount |${lib.getBin util-linux}/bin/umount |
    " kiosk.service kiosk-usb@.service
    if grep -nE '^Exec[A-Za-z]*=(-?/(usr|bin)|.* -?/(usr|bin|lib))' kiosk.service kiosk-usb@.service; then
      echo "kiosk: these lines of the units name programs that NixOS does not have; package.nix has to replace them" >&2
      exit 1
    fi
    runHook postInstall
  '';

  meta = {
    description = "Video player for screens that nobody looks after";
    license = lib.licenses.asl20;
    sourceProvenance = [ lib.sourceTypes.binaryNativeCode ];
    platforms = [
      "x86_64-linux"
      "aarch64-linux"
    ];
    mainProgram = "kiosk";
  };
}
