# deploy/nix/module.nix   services.kiosk for NixOS: the package, its units and rules, its user, its configuration, fonts, and tty1 for it alone.
#
#   imports = [ ./module.nix ];
#   services.kiosk.enable = true;
#   services.kiosk.package = pkgs.callPackage ./package.nix { deb = ./kiosk_0.1.0+deb13u1_amd64.deb; };
#   services.kiosk.configFile = ./kiosk.conf;
#
# Tried: nix-instantiate --parse, and evaluation with functions that only show their arguments. Not tried: NixOS.
{
  config,
  lib,
  pkgs,
  ...
}:

let
  cfg = config.services.kiosk;
in
{
  options.services.kiosk = {
    enable = lib.mkEnableOption "the kiosk video player on tty1";
    package = lib.mkOption {
      type = lib.types.package;
      description = "The package of package.nix, with a .deb of a release.";
    };
    configFile = lib.mkOption {
      type = lib.types.path;
      default = "${cfg.package}/share/kiosk/kiosk.conf";
      defaultText = lib.literalExpression ''"''${package}/share/kiosk/kiosk.conf"'';
      description = "kiosk.conf. Nix copies a path into the store, where everybody reads it: with passwords in it, give a string such as \"/etc/nixos/kiosk.conf\".";
    };
  };

  config = lib.mkIf cfg.enable {
    environment.systemPackages = [ cfg.package ];
    environment.etc."kiosk/kiosk.conf" = {
      source = cfg.configFile;
      mode = "0640";
      user = "root";
      group = "kiosk";
    };

    users.groups.kiosk = { };
    users.users.kiosk = {
      isSystemUser = true;
      group = "kiosk";
      description = "Kiosk video player";
      extraGroups = [
        "video"
        "render"
        "audio"
        "input"
      ];
    };

    services.udev.packages = [ cfg.package ];
    systemd.packages = [ cfg.package ];
    systemd.services.kiosk.wantedBy = [ "multi-user.target" ];
    systemd.paths.kiosk.wantedBy = [ "multi-user.target" ];
    # The screen is its own
    systemd.services."getty@tty1".enable = false;
    systemd.services."autovt@tty1".enable = false;

    hardware.graphics.enable = lib.mkDefault true;
    fonts.fontconfig.enable = lib.mkDefault true;
    fonts.packages = [
      pkgs.inter
      pkgs.dejavu_fonts
      pkgs.noto-fonts-cjk-sans
    ];
  };
}
