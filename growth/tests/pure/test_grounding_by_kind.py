"""The guard's verdict by kind of note: grounded, vague, nothing shared, names only, function words only."""
# ruff: noqa: E501 - wide scripts count double in a table of texts

from growth.grounding import verdict
from growth.tests.pure.test_grounding import DIARY, GROUNDED, VAGUE

# (kind, language, text, whether it must be flagged)
ROWS = [
    ("grounded", "en", "I burned nothing this time, but Ana's lentil soup still makes me laugh while I oil her bicycle.", False),
    ("grounded", "en", "Two chapters about lighthouses and a rainy harbour: that is what calm is to me.", False),
    ("grounded", "it", "Pioveva, il tram 4 non partiva, e Marta rideva con le pesche in mano.", False),
    ("grounded", "it", "Le api della tesi di Luca mi hanno resa paziente.", False),
    ("grounded", "de", "Beim Steinesammeln an der Isar erzählte Jonas vom Segeln, und ich hörte nur zu.", False),
    ("grounded", "fr", "Hugo a souri quand sa lampe s'est rallumée; l'horloge de Camille, elle, reste cassée.", False),
    ("grounded", "fr", "Au marché aux puces, j'ai appris à regarder une vieille horloge sans la réparer.", False),
    ("grounded", "es", "Las fracciones de Mateo me costaron más que los churros.", False),
    ("grounded", "es", "En la Barceloneta el viento me enseñó a soltar, como el sombrero de Lucía.", False),
    ("grounded", "pt", "As sardinhas do Bolhão e a guitarra na varanda ficaram comigo.", False),
    ("grounded", "nl", "Ik fietste met Sanne langs de Waddenzee en telde zeehonden.", False),
    ("grounded", "ja", "駅前の古本屋で灯台の本を見つけて、雨の音を聞いていた。", False),
    ("grounded", "ja", "睡蓮の前で一時間も座れる自分を知った。", False),
    ("grounded", "zh", "看到刚出生的小熊猫，我和李雷都安静了。", False),
    ("grounded", "zh", "和奶奶一起包饺子的时候，我不再着急。", False),
    ("grounded", "th", "ฉันกินก๋วยเตี๋ยวเรือกับนกที่ตลาดน้ำ แล้วฝนก็ตก", False),
    ("grounded", "ru", "Мороженое у реки с Машей научило меня не спешить.", False),
    ("grounded", "ko", "한강에서 자전거를 타다가 편의점 라면을 먹은 날을 기억한다.", False),
    ("grounded", "ar", "الرمان من سوق السمك ودراجة يوسف علّماني الصبر.", False),
    ("grounded", "hi", "दादी का अचार और नदी किनारे के आम मेरे साथ हैं।", False),
    ("grounded", "tr", "Dedemin radyosu yine çalıyor; vapurda martılar simit bekliyor.", False),
    ("vague", "en", "I am learning to trust the process and to be present in every moment.", True),
    ("vague", "it", "Sto imparando a fidarmi e a vivere con più serenità ogni istante.", True),
    ("vague", "de", "Ich lerne, dem Leben zu vertrauen und jeden Augenblick bewusst zu erleben.", True),
    ("vague", "fr", "J'apprends à faire confiance et à savourer chaque instant de la vie.", True),
    ("vague", "es", "Aprendo a confiar y a vivir con más calma y alegría.", True),
    ("vague", "pt", "Aprendo a confiar e a viver cada instante com mais calma.", True),
    ("vague", "nl", "Ik leer te vertrouwen en bewuster in het leven te staan.", True),
    ("vague", "ko", "나는 매일 조금씩 더 나은 내가 되어 가고 있다고 느낀다.", True),
    ("vague", "tr", "Kendime güvenmeyi ve anın tadını çıkarmayı öğreniyorum.", True),
    ("nothing shared", "en", "With Omar I climbed the observatory hill and we counted meteors until three.", True),
    ("nothing shared", "it", "Con Giulia ho dipinto la staccionata di verde e abbiamo ascoltato i grilli.", True),
    ("nothing shared", "de", "Mit Lena habe ich Drachen gebaut, und der Wind riss uns die Schnur weg.", True),
    ("nothing shared", "fr", "Avec Nadia, j'ai planté des tomates derrière la gare.", True),
    ("nothing shared", "es", "Con Elena pinté el muro del huerto y plantamos tomates.", True),
    ("nothing shared", "ja", "健太と山小屋で星を数え、朝まで焚き火を囲んだ。", True),
    ("nothing shared", "zh", "我和张伟爬上长城，风把帽子吹走了。", True),
    ("nothing shared", "th", "ฉันปีนเขากับสมชาย แล้วดูดาวจนเช้า", True),
    ("nothing shared", "ru", "С Игорем мы клеили воздушного змея и пускали его над полем.", True),
    ("nothing shared", "ko", "민수와 산에 올라 별똥별을 세었다.", True),
    ("nothing shared", "ar", "صعدت الجبل مع سامي وعددنا النجوم حتى الفجر.", True),
    ("nothing shared", "hi", "राहुल के साथ पहाड़ पर चढ़कर तारे गिने।", True),
    ("names only", "en", "Jay. Ana.", False),
    ("names only", "it", "Marta e Luca.", False),
    ("names only", "de", "Jonas und Hilde.", False),
    ("names only", "fr", "Camille et Hugo.", False),
    ("names only", "es", "Lucía y Mateo.", False),
    ("names only", "ja", "李さんと、ゆきがいた。", False),
    ("names only", "zh", "李雷和王芳。", False),
    ("names only", "ru", "Маша и Петя.", False),
    ("names only", "en", "Omar. Giulia. Kenta.", True),
    ("names only", "zh", "张伟和刘洋。", True),
    ("function words only", "en", "I have been there with them, and it was so, because of that.", True),
    ("function words only", "it", "Io sono stata con loro, e per questo non ero più come prima.", True),
    ("function words only", "de", "Ich bin dann auch noch da gewesen, weil es so war.", True),
    ("function words only", "fr", "J'ai été avec eux, et pour cela je suis comme je suis.", True),
    ("function words only", "es", "Yo he estado con ellos, y por eso soy como soy.", True),
    ("function words only", "pt", "Eu estive com eles, e por isso sou como sou.", True),
    ("function words only", "nl", "Ik ben er ook nog bij geweest, omdat het zo was.", True),
    ("function words only", "ja", "それは、そして、だから、これでした。", True),
    ("function words only", "ru", "И это было так, потому что я была с ними.", True),
]  # fmt: skip


def test_each_kind_is_judged_as_it_should_be():
    missed = []
    for kind, language, text, is_flagged in ROWS:
        found = verdict(text, DIARY[language], language)
        if found.is_abstract is not is_flagged:
            missed.append(f"{kind} {language}: {text} -> shared {found.shared}; {found.why}")
    print("\n".join(missed))
    assert missed == [], "\n".join(missed)


def test_the_tables_together_are_wide_enough():
    rows = [(language, text) for _, language, text, _ in ROWS] + GROUNDED + VAGUE
    assert len(set(rows)) >= 120, len(set(rows))
    assert len({language for language, _ in rows}) >= 8
    for kind in ("grounded", "vague", "nothing shared", "names only", "function words only"):
        assert len({language for found, language, _, _ in ROWS if found == kind}) >= 8, kind
